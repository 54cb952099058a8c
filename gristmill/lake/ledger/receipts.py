"""Receipts of finished shards, written before their ledger; and the run's note.

A receipt has the version of each object, so that a later run recognizes the object without reading it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.errors import StoreError
from gristmill.lake.address import Place
from gristmill.lake.ledger.code import Codes
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.renamed import current_shard
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store


class RawVersion(msgspec.Struct, frozen=True, gc=False):
    """The version of a raw object that was read: as in ObjectVersion, and what else decided what was made of it.

    Attributes:
        sha256: sha256 of the object's bytes.
        link: the first part of its name that is a link; empty: none is. Unset: its reader did not ask, or an earlier
            version of Gristmill read it.
    """

    size: int
    etag: str
    sha256: str
    changed: int = 0
    link: str | UnsetType = UNSET

    @classmethod
    def from_version(cls, version: ObjectVersion, sha256: str, link: str | UnsetType = UNSET) -> "RawVersion":
        """The version of an object with this sha256."""
        return cls(version.size, version.etag, sha256, version.changed, link)

    def same(self, entry: Entry) -> bool:
        """Whether the size, etag and change time of an entry are those of this version; see ObjectVersion.same()."""
        return ObjectVersion(self.size, self.etag, self.changed).same(entry)


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A finished shard.

    Attributes:
        row: its future row of the table.
        stamps: the version of each of its objects, by path.
        raw: the version of each raw object that was read, by path.
        code: digest of the code that made it; empty: not known.
        run: token of the run that left it; empty: an earlier version did.
    """

    row: Shard
    stamps: dict[str, ObjectVersion] = {}
    raw: dict[str, RawVersion] = {}
    code: str = ""
    run: str = ""


class RunNote(msgspec.Struct, frozen=True):
    """The note beside the ledger, on the run and on the versions of objects. It is not part of a fingerprint.

    Attributes:
        about: the run's id, time, git commit and package versions.
        table: sha256 of the table that the note belongs to. The note is written before the table, and the head last.
        stamps: the version of each object of the partition, by path.
        raw: the version of each raw object that was read, by path.
        left: objects that no row names any longer. They still exist if another run may be reading them.
        codes: digests of code that gives these shards, and why; see gristmill.lake.ledger.code.
        checked: a digest of the checksum files that the raw objects were compared with; empty: they were not.
        checks: names of the checks of installed packages that it has passed, or that only warned.
    """

    about: dict[str, Any] = {}
    table: str = ""
    stamps: dict[str, ObjectVersion] = {}
    raw: dict[str, RawVersion] = {}
    left: tuple[str, ...] = ()
    codes: Codes = {}
    checked: str = ""
    checks: tuple[str, ...] = ()


def objects_of_row(row: Shard, place: Place) -> list[tuple[str, str, int | None]]:
    """The path, sha256 and size in bytes (or None) of each object that a row of the table names.

    Adopted files are not among them: the lake neither makes nor removes them.
    """
    objects: list[tuple[str, str, int | None]] = []
    named = row.objects
    for path, (sha256, size) in (named or {}).items():
        objects.append((path, sha256, size))
    if named is None and not row.at:
        objects.append((place.shard(row.name), row.sha256, row.bytes))
    if row.index:
        objects.append((place.index(row.name), row.index, None))
    if row.quarantine:
        objects.append((place.quarantine_path(row.name), row.quarantine.sha256, row.quarantine.bytes))
    return objects


def leave_receipt(store: Store, place: Place, run: str, receipt: Receipt) -> Receipt:
    """Writes the receipt of a finished shard.

    Args:
        store: the lake.
        place: the partition.
        run: token of the run that has finished the shard.
        receipt: receipt of any run.

    Returns:
        The receipt as it was written: that of this run.
    """
    own = msgspec.structs.replace(receipt, run=run)
    store.put(place.receipt_path(receipt.row.name), as_json(own))
    return own


def read_receipt(store: Store, place: Place, name: str, run: str) -> Receipt | None:
    """The receipt that a run has left of a shard.

    A late worker of an older run may have left one of this name: it says what that run made the shard from.

    Args:
        store: the lake.
        place: the partition.
        name: name of the shard.
        run: token of the run.

    Returns:
        None if there is none, or another run has left it.

    Raises:
        StoreError: it cannot be decoded.
    """
    stored = store.read_tagged(place.receipt_path(name))
    if stored is None:
        return None
    try:
        receipt = msgspec.json.decode(stored[0], type=Receipt)
    except NOT_DECODED as error:
        raise StoreError(f"{place.receipt_path(name)}: not a receipt ({error}); run again") from error
    return receipt if receipt.run == run else None


def read_receipts(store: Store, place: Place, beside: Iterable[Entry] | None = None) -> Iterable[Receipt]:
    """The receipts in the store. Objects that are not valid receipts are skipped; their shards are ground again.

    Args:
        store: the lake.
        place: the partition.
        beside: the objects of its `.receipts/`, if the caller has listed them.
    """
    for entry in store.list(place.receipts_folder) if beside is None else beside:
        if entry.path.endswith(".json") and not entry.path.removeprefix(place.receipts_folder).startswith("."):
            try:
                receipt = msgspec.json.decode(store.read(entry.path), type=Receipt)
                receipt = msgspec.structs.replace(receipt, row=current_shard(receipt.row))
                receipt.row.objects  # noqa: B018 - raises if they are of another type
            except NOT_DECODED:
                continue
            yield receipt


def read_run_note(store: Store, place: Place) -> RunNote:
    """The last run's note. If it is missing or not valid, an empty note: the next run then only takes longer."""
    return read_tagged_note(store, place)[0]


def read_tagged_note(store: Store, place: Place) -> tuple[RunNote, str | None]:
    """The last run's note as read_run_note() gives it, and the etag of its file; None if there is no file.

    Args:
        store: the lake.
        place: the partition.
    """
    tagged = store.read_tagged(place.run)
    if tagged is None:
        return RunNote(), None
    try:
        return msgspec.json.decode(tagged[0], type=RunNote), tagged[1]
    except NOT_DECODED:
        return RunNote(), tagged[1]


def raw_stamps(store: Store, place: Place) -> dict[str, RawVersion]:
    """The version of each raw object that was read for a partition, by its name, at the time of reading."""
    raw = dict(read_run_note(store, place).raw)
    for receipt in read_receipts(store, place):
        raw.update(receipt.raw)
    return raw
