"""Receipts: a finished shard before its ledger says so; and stamps, by which an object is known again unread."""

from collections.abc import Iterable
from typing import Any

import msgspec

from gristmill.lake.address import Place
from gristmill.lake.ledger.files import dump
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.renamed import current_shard
from gristmill.lake.store.protocol import Store

Stamp = tuple[int, str]
"""Size and etag of an object when it was written or read."""


class RawStamp(msgspec.Struct, frozen=True, gc=False):
    """A raw object as it was when it was read: size, etag, and sha256 of its bytes."""

    size: int
    etag: str
    sha256: str


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A finished shard: its future row of the table, and how its objects looked in the store."""

    row: Shard
    stamps: dict[str, Stamp] = {}
    raw: dict[str, RawStamp] = {}


class RunNote(msgspec.Struct, frozen=True):
    """What stands beside the ledger, outside every fingerprint: about the run, and stamps of objects.

    `table` is the sha256 of the table that it stands for: it is put before the table, and the head after both.
    `left` are objects that no row names any longer, and that lie there still if another run may be reading them.
    """

    about: dict[str, Any] = {}
    table: str = ""
    stamps: dict[str, Stamp] = {}
    raw: dict[str, RawStamp] = {}
    left: tuple[str, ...] = ()


def objects_of(row: Shard, place: Place) -> list[tuple[str, str, int | None]]:
    """(path, sha256, size if known) of each object that a row of the table names."""
    found: list[tuple[str, str, int | None]] = []
    for path, (sha256, size) in row.extra.get("objects", {}).items():
        found.append((path, sha256, size))
    if "objects" not in row.extra:
        found.append((place.shard(row.name), row.sha256, row.bytes))
    if row.index:
        found.append((place.index(row.name), row.index, None))
    if row.quarantine:
        found.append((place.quarantine(row.name), row.quarantine.sha256, row.quarantine.bytes))
    return found


def leave_receipt(store: Store, place: Place, receipt: Receipt) -> None:
    """Records a finished shard."""
    store.put(place.receipt(receipt.row.name), dump(receipt))


def read_receipts(store: Store, place: Place) -> Iterable[Receipt]:
    """Receipts on disk. A torn or foreign one is passed over: its shard is ground again."""
    for entry in store.list(place.receipts):
        if entry.path.endswith(".json") and not entry.path.removeprefix(place.receipts).startswith("."):
            try:
                receipt = msgspec.json.decode(store.read(entry.path), type=Receipt)
                yield msgspec.structs.replace(receipt, row=current_shard(receipt.row))
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


def read_note(store: Store, place: Place) -> RunNote:
    """The last run's note; an empty one where it is missing or torn: it only saves work."""
    found = store.read_tagged(place.run)
    try:
        return msgspec.json.decode(found[0], type=RunNote) if found else RunNote()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return RunNote()
