"""Writes a raw object anew without some of its records, and proves that nothing else has changed.

The new object is made in a folder of this machine. Old and new object are converted, and must give the same rows in the
same order, except for the erased ones. Only then the new object replaces the old one, in one atomic step.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from gristmill.errors import DataError, StoreError, undone_at_failure
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry, Store
from gristmill.recipes.raw_object import Converted, Copied, LeftOut, RawObject, Refused
from gristmill.stages.conversion.converter import convert_with_spans
from gristmill.stages.conversion.quarantine import quarantined_row
from gristmill.takedowns.erasing.cut_units import find_cuts, remove_cut_ranges
from gristmill.takedowns.erasing.erasure_plan import ObjectPlan, why_bytes_stay
from gristmill.takedowns.refused_ids import pairs_of_refused_row
from gristmill.takedowns.wanted import Wanted

_encoder = msgspec.json.Encoder()


class RewrittenObject(NamedTuple):
    """What became of a raw object.

    Attributes:
        path: path of the object.
        before: its sha256 before.
        after: its sha256 after; empty if nothing was left, so that it was removed.
        records: number of records that were cut.
        stays: reason why its bytes before are not gone; empty if they are.
    """

    path: str
    before: str
    after: str
    records: int
    stays: str = ""

    @property
    def summary(self) -> str:
        """A line for people."""
        what = "rewritten" if self.after else "removed, as nothing else was in it"
        return f"{'cut' if self.stays else 'erased'} {self.records} records of {self.path}: {what}"


def rewrite_object(
    store: Store, plan: ObjectPlan, wanted: Wanted, announce: Callable[[str], object] | None
) -> RewrittenObject:
    """Replaces a raw object by one without some records.

    Args:
        store: the lake.
        plan: the object and the cuts.
        wanted: the documents that are erased.
        announce: function that is called right before the object changes, with the sha256 that it gets; empty: it is
            removed. None: a dry run, which ends there.

    Returns:
        The object after the change, and why its bytes before may stay.

    Raises:
        DataError: the object is not the one that was converted, other rows would change with the cuts, or its bytes
            would stay under another name. It is as it was.
        StoreError: the lake does not answer, or the object is being replaced by others.
    """
    entry = store.head(plan.path)
    if entry is None:
        raise StoreError(f"{plan.path}: there is no such object any longer; make its documents, and erase again")
    with TemporaryDirectory() as folder:
        local = FolderStore(folder)
        before, after, size = _write_cut_object(store, entry, plan, local)
        if before != plan.sha256:
            raise DataError(
                f"{plan.path}: has changed since it was converted, so the places in it are not known; make its"
                " documents, and erase again"
            )
        _compare_object_rows(store, local if size else None, plan, entry, wanted)
        _check_alone(store, entry)
        if announce is None:
            return RewrittenObject(plan.path, before, after if size else "", len(plan.cuts))
        with _hold_old_file(store, entry.path) as old:
            announce(after if size else "")
            if size:
                _replace_raw_object(store, entry, local, old)
            else:
                _check_same(store, entry)
                _check_alone(store, entry)
                store.delete([entry.path], lambda: store.head(entry.path) is None or _is_same(store, entry))
            stays = old.why_left() if old else ""
    return RewrittenObject(plan.path, before, after if size else "", len(plan.cuts), stays)


def _write_cut_object(store: Store, entry: Entry, plan: ObjectPlan, local: FolderStore) -> tuple[str, str, int]:
    """Writes the object without the cuts to a folder. Returns the sha256 before and after, and the plain bytes left."""
    digest, new = hashlib.sha256(), hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in store.stream(entry.path, entry.version):
            digest.update(piece)
            yield piece

    cuts = find_cuts(store.stream(entry.path, entry.version), entry.path, entry.size, plan.cuts)
    upload = local.upload(entry.path)
    for data in remove_cut_ranges(hashed(), entry.path, cuts):
        new.update(data)
        upload.write(data)
    upload.close()
    return digest.hexdigest(), new.hexdigest(), cuts.left


def _compare_object_rows(
    store: Store, local: FolderStore | None, plan: ObjectPlan, entry: Entry, wanted: Wanted
) -> None:
    """Raises DataError unless both objects give the same rows, except for the erased ones. None: no object is left."""
    old_rows = _comparable_outcomes(
        RawObject(store, plan.path, plan.name, entry.size, plan.source.limits), plan, wanted
    )
    left = (row for row in old_rows if not row[-1])
    if local is None:
        if next(left, None) is not None:
            raise DataError(
                f"{plan.path}: it would be removed, but records of other documents are in it; nothing was changed,"
                " rewrite the object by hand"
            )
        return
    new = local.head(plan.path)
    size = new.size if new else 0
    new_rows = _rows_of_new_object(
        _comparable_outcomes(RawObject(local, plan.path, plan.name, size, plan.source.limits), plan, wanted), plan.path
    )
    for number, (kept, made) in enumerate(zip_longest(left, new_rows)):
        if kept != made:
            raise DataError(
                f"{plan.path}: without these records, row {number} of the others would be another one: it depends"
                " on its place in the object, or on a record that is cut, or its recipe has changed; nothing was"
                " changed: make the documents and erase again, or rewrite the object by hand"
            )


def _rows_of_new_object(rows: Iterator[tuple[Any, ...]], path: str) -> Iterator[tuple[Any, ...]]:
    """The rows of the new object. What a reader says of it is not true of the object that people have."""
    try:
        yield from rows
    except DataError as error:
        raise DataError(
            f"{path}: without these records its reader cannot read it; nothing was changed, rewrite the object by hand"
        ) from error


def _comparable_outcomes(raw: RawObject, plan: ObjectPlan, wanted: Wanted) -> Iterator[tuple[Any, ...]]:
    """What a converter makes of an object, in a form that can be compared: kind, id, source, bytes or reason.

    The last value is whether the row is to be erased.
    """
    yield from (
        _comparable_outcome(row, plan, wanted, raw_span)
        for row, raw_span in convert_with_spans(plan.source, raw, plan.snapshot)
    )


def _comparable_outcome(row: Converted, plan: ObjectPlan, wanted: Wanted, raw_span: RawSpan | None) -> tuple[Any, ...]:
    if isinstance(row, Refused):
        own = pairs_of_refused_row(quarantined_row(row, plan.name, raw_span), plan.source, wanted, plan.snapshot)
        return "refused", row.id, row.raw, row.reason, bool(own)
    if isinstance(row, LeftOut):
        return "left out", row.id, row.source, (row.reason, row.records), (row.source, row.id) in wanted.reasons
    line = row.line if isinstance(row, Copied) else _encoder.encode(row)
    return "row", row.id, row.source, line, (row.source, row.id) in wanted.reasons


def _replace_raw_object(store: Store, entry: Entry, local: FolderStore, old: OldFile | None) -> None:
    """Puts the new object in the place of the old one, unless others have replaced it. A file keeps its rights."""
    upload = store.upload(entry.path, old) if isinstance(store, FolderStore) else store.upload(entry.path)
    with undone_at_failure(upload.abort):
        _check_same(store, entry)
        for piece in local.stream(entry.path):
            upload.write(piece)
        _check_alone(store, entry)
        upload.close()


def _hold_old_file(store: Store, path: str) -> AbstractContextManager[OldFile | None]:
    """Holds the file of the old object, which tells whether its bytes are gone. A bucket has no second names."""
    return store.old_file(path) if isinstance(store, FolderStore) else nullcontext()


def _check_alone(store: Store, entry: Entry) -> None:
    """Raises DataError if the bytes of an object would stay under another name. Asked again right before the act."""
    why = why_bytes_stay(store, entry.path)
    if why:
        raise DataError(f"{entry.path}: {why}")


def _is_same(store: Store, entry: Entry) -> bool:
    now = store.head(entry.path)
    return now is not None and entry.version.same_stamp(now)


def _check_same(store: Store, entry: Entry) -> None:
    if not _is_same(store, entry):
        raise StoreError(f"{entry.path}: was replaced meanwhile; make its documents, and erase again")
