"""The nameplate: which lake this is. Its address may come to name another one; its nameplate never does."""

import re
from uuid import uuid4

import msgspec

from gristmill.errors import Conflict, DataError
from gristmill.lake.address import place_of_ledger
from gristmill.lake.ledger.files import dump
from gristmill.lake.ledger.walk import ledger_folders
from gristmill.lake.store.protocol import Store

NAMEPLATE = "lake.json"
"""Where it lies: at the root. A copy of a lake is the same lake, until it is given a nameplate of its own."""

_ID = re.compile(r"[0-9a-f]{32}")


class Nameplate(msgspec.Struct, frozen=True):
    """The id of a lake: 32 random hexadecimal digits, drawn once. It is part of no fingerprint."""

    id: str
    schema: int = 1


def read_nameplate(store: Store) -> Nameplate | None:
    """The lake's nameplate, or None if it has none yet.

    Raises:
        DataError: it is there, and no nameplate.
    """
    found = store.read_tagged(NAMEPLATE)
    if found is None:
        return None
    try:
        plate = msgspec.json.decode(found[0], type=Nameplate)
    except (msgspec.DecodeError, UnicodeDecodeError):
        plate = None
    if plate is None or not _ID.fullmatch(plate.id):
        raise DataError(
            f'{NAMEPLATE}: no nameplate of a lake ({{"id": 32 hexadecimal digits}}); remove it, then run `sync`'
        )
    return plate


def nameplate(store: Store) -> Nameplate:
    """The lake's nameplate; the first who asks puts one there.

    Raises:
        DataError: what is there is none.
    """
    plate = read_nameplate(store)
    if plate is not None:
        return plate
    plate = Nameplate(uuid4().hex)
    try:
        store.put_if(NAMEPLATE, dump(plate), None)
    except Conflict:  # another was the first
        return nameplate(store)
    return plate


def is_new(store: Store) -> bool:
    """Whether nothing was made in this lake yet: no partition is finished. Raw data is not looked through."""
    return not any(place_of_ledger(entry.path) for top in ledger_folders(store) for entry in store.list(top))
