"""The id of a lake. Another lake may later be at the same address, but it has another id."""

import re
from uuid import uuid4

import msgspec

from gristmill.errors import Conflict, DataError
from gristmill.lake.address import place_of_ledger
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.walk import ledger_folders
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store

LAKE_FILE = "lake.json"
"""The file with the lake's id, at the root of the lake. A copy of a lake has the same id until this file is removed."""

_ID = re.compile(r"[0-9a-f]{32}")


class LakeId(msgspec.Struct, frozen=True):
    """The id of a lake: 32 random hexadecimal digits, drawn once. It is not part of a fingerprint."""

    id: str
    schema: int = 1


def read_lake_id(store: Store) -> LakeId | None:
    """The lake's id, or None if it has none yet.

    Raises:
        DataError: the file does not contain a valid id.
    """
    tagged = store.read_tagged(LAKE_FILE)
    if tagged is None:
        return None
    try:
        lake_id = msgspec.json.decode(tagged[0], type=LakeId)
    except NOT_DECODED:
        lake_id = None
    if lake_id is None or not _ID.fullmatch(lake_id.id):
        raise DataError(
            f'{LAKE_FILE}: not a valid lake id ({{"id": 32 hexadecimal digits}}); remove the file, then run `sync`'
        )
    return lake_id


def make_lake_id(store: Store) -> LakeId:
    """The lake's id. If the lake has none, a random one is written.

    Raises:
        DataError: the file exists, but does not contain a valid id.
    """
    lake_id = read_lake_id(store)
    if lake_id is not None:
        return lake_id
    lake_id = LakeId(uuid4().hex)
    try:
        store.put_if(LAKE_FILE, as_json(lake_id), None)
    except Conflict:  # another process has written one meanwhile
        return make_lake_id(store)
    return lake_id


def is_new(store: Store) -> bool:
    """Whether the lake has no finished partition yet. Raw data are not searched."""
    return not any(place_of_ledger(entry.path) for top in ledger_folders(store) for entry in store.list(top))
