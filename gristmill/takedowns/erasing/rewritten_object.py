"""Writes a raw object anew without some of its records, and proves that nothing else has changed.

The new object is made in a folder of this machine. Old and new object are converted, and must give the same rows in the
same order, except for the erased ones. Only then the new object replaces the old one, in one atomic step.
"""

import bz2
import hashlib
import lzma
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import msgspec
import zstandard

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.shard_file import gzip_bytes, suffix, unpacked
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry, Store
from gristmill.recipes.raw_object import Converted, Copied, LeftOut, RawObject, Refused
from gristmill.recipes.source import Source
from gristmill.stages.conversion.converter import converted
from gristmill.takedowns.erasing.erasure_plan import ObjectPlan, why_bytes_stay
from gristmill.takedowns.refused import own_pairs
from gristmill.takedowns.wanted import Wanted

_CRLF, _WARC = b"\r\n", b"WARC/"
_encoder = msgspec.json.Encoder()


class RewrittenObject(NamedTuple):
    """What became of a raw object.

    Attributes:
        path: of the object.
        before: its sha256 before.
        after: its sha256 after; empty if nothing was left, so that it was removed.
        records: number of records that were cut.
        stays: why its bytes before are not gone; empty if they are.
    """

    path: str
    before: str
    after: str
    records: int
    stays: str = ""


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Unpacked:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class _Gzip:
    """Packs into gzip members of about 1 MiB."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def compress(self, data: bytes, /) -> bytes:
        self._held.append(data)
        self._size += len(data)
        return self.flush() if self._size >= 1 << 20 else b""

    def flush(self) -> bytes:
        data, self._held, self._size = b"".join(self._held), [], 0
        return gzip_bytes(data) if data else b""


_PACKERS: dict[str, Callable[[], _Packer]] = {
    ".gz": _Gzip,
    ".zst": lambda: zstandard.ZstdCompressor().compressobj(),
    ".zstd": lambda: zstandard.ZstdCompressor().compressobj(),
    ".bz2": bz2.BZ2Compressor,
    ".xz": lzma.LZMACompressor,
}


def rewrite_object(
    store: Store, plan: ObjectPlan, wanted: Wanted, announce: Callable[[str], object]
) -> RewrittenObject:
    """Replaces a raw object by one without some records.

    Args:
        store: the lake.
        plan: the object and the cuts.
        wanted: the documents that are erased.
        announce: is called right before the object changes, with the sha256 that it gets; empty: it is removed.

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
        before, after, size = _write(store, entry, plan, local)
        if before != plan.sha256:
            raise DataError(
                f"{plan.path}: has changed since it was converted, so the places in it are not known; make its"
                " documents, and erase again"
            )
        _compare(store, local if size else None, plan, entry, wanted)
        _check_alone(store, entry)
        with _old_file(store, entry.path) as old:
            announce(after if size else "")
            if size:
                _replace(store, entry, local)
            else:
                _check_same(store, entry)
                _check_alone(store, entry)
                store.delete([entry.path], lambda: store.head(entry.path) is None or _is_same(store, entry))
            stays = old.why_left() if old else ""
    return RewrittenObject(plan.path, before, after if size else "", len(plan.cuts), stays)


def _write(store: Store, entry: Entry, plan: ObjectPlan, local: FolderStore) -> tuple[str, str, int]:
    """Writes the object without the cuts into a folder. Returns the sha256 before and after, and the bytes left."""
    digest, new = hashlib.sha256(), hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in store.stream(entry.path, entry.version):
            digest.update(piece)
            yield piece

    wide = widened(lambda: unpacked(store.stream(entry.path, entry.version), entry.path), plan.cuts)
    packer = _PACKERS.get(suffix(entry.path), _Unpacked)()
    upload, left = local.upload(entry.path), 0

    def write(data: bytes) -> None:
        new.update(data)
        upload.write(data)

    for kept in without(unpacked(hashed(), entry.path), wide):
        left += len(kept)
        write(packer.compress(kept))
    write(packer.flush())
    upload.close()
    return digest.hexdigest(), new.hexdigest(), left


def widened(pieces: Callable[[], Iterable[bytes]], cuts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cuts that take the line end behind a record with it, if the record is a line of its own.

    Behind a record of WARC stand two line ends. They are taken too.

    Args:
        pieces: the bytes from the begin, anew at each call.
        cuts: [start, end) of the records.

    Returns:
        The cuts, sorted.
    """
    asked = {at for start, end in cuts for at in (*range(start - 1, start + len(_WARC)), *range(end, end + 4))}
    at = 0
    known: dict[int, int] = {}
    for piece in pieces():
        known |= {each: piece[each - at] for each in asked if at <= each < at + len(piece)}
        at += len(piece)

    def at_place(start: int, length: int) -> bytes:
        return bytes(known[each] for each in range(start, start + length) if each in known)

    wide: list[tuple[int, int]] = []
    for start, end in sorted(cuts):
        ends = (2 * _CRLF,) if at_place(start, len(_WARC)) == _WARC else ()
        found = next((each for each in (*ends, _CRLF, b"\n") if at_place(end, len(each)) == each), b"")
        own = start == 0 or at_place(start - 1, 1) == b"\n"
        wide.append((start, end + len(found) if own else end))
    return wide


def without(pieces: Iterable[bytes], cuts: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """The bytes outside of some ranges.

    Args:
        pieces: the bytes.
        cuts: [start, end) of each range, sorted.

    >>> list(without([b"abc", b"def"], [(1, 2), (2, 4)]))
    [b'a', b'ef']
    """
    ranges, at = list(cuts), 0
    for piece in pieces:
        begin, end = at, at + len(piece)
        for first, last in (each for each in ranges if each[0] < end and each[1] > at):
            if begin < first:
                yield piece[begin - at : first - at]
            begin = max(begin, last)
        if begin < end:
            yield piece[begin - at :]
        at = end


def _compare(store: Store, local: FolderStore | None, plan: ObjectPlan, entry: Entry, wanted: Wanted) -> None:
    """Raises DataError unless both objects give the same rows, except for the erased ones. None: no object is left."""
    old_rows = _outcomes(RawObject(store, plan.path, plan.name, entry.size, plan.source.limits), plan)
    left = (row for row in old_rows if not _is_erased(row, plan.source, wanted))
    if local is None:
        if next(left, None) is not None:
            raise DataError(
                f"{plan.path}: it would be removed, but records of other documents are in it; nothing was changed,"
                " rewrite the object by hand"
            )
        return
    new = local.head(plan.path)
    size = new.size if new else 0
    new_rows = _readable(_outcomes(RawObject(local, plan.path, plan.name, size, plan.source.limits), plan), plan.path)
    for number, (kept, made) in enumerate(zip_longest(left, new_rows)):
        if kept != made:
            raise DataError(
                f"{plan.path}: without these records, row {number} of the others would be another one: an id or a field"
                " depends on its place in the object; nothing was changed, rewrite the object by hand"
            )


def _readable(rows: Iterator[tuple[Any, ...]], path: str) -> Iterator[tuple[Any, ...]]:
    """The rows of the new object. What a reader says of it is not true of the object that people have."""
    try:
        yield from rows
    except DataError as error:
        raise DataError(
            f"{path}: without these records its reader cannot read it; nothing was changed, rewrite the object by hand"
        ) from error


def _outcomes(raw: RawObject, plan: ObjectPlan) -> Iterator[tuple[Any, ...]]:
    """What a converter makes of an object, in a form that can be compared: kind, id, source, and bytes or reason."""
    for row in converted(plan.source, raw, plan.snapshot):
        raw.take_raw_span()
        yield from (_outcome(refused) for refused in raw.take_refused())
        yield _outcome(row)
    yield from (_outcome(refused) for refused in raw.take_refused())


def _outcome(row: Converted) -> tuple[Any, ...]:
    if isinstance(row, Copied):
        return "row", row.id, row.source, row.line
    if isinstance(row, Refused):
        return "refused", row.id, row.raw, row.reason
    if isinstance(row, LeftOut):
        return "left out", row.id, row.source, (row.reason, row.records)
    return "row", row.id, row.source, _encoder.encode(row)


def _is_erased(row: tuple[Any, ...], source: Source, wanted: Wanted) -> bool:
    kind, name, third, _ = row
    if kind == "refused":
        return bool(own_pairs(name, third.decode("utf-8", "replace"), source, wanted))
    return (third, name) in wanted.reasons


def _replace(store: Store, entry: Entry, local: FolderStore) -> None:
    """Puts the new object in the place of the old one, unless others have replaced it."""
    upload = store.upload(entry.path)
    try:
        _check_same(store, entry)
        for piece in local.stream(entry.path):
            upload.write(piece)
        _check_alone(store, entry)
        upload.close()
    except BaseException:
        upload.abort()
        raise


def _old_file(store: Store, path: str) -> AbstractContextManager[OldFile | None]:
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
