"""Reads one split of a token cache as one sequence of rows and one stream of tokens, across its parts.

Levanter reads a missing object as zeros. This reader compares the sha256 of each object with the lake's ledger before
it uses the object.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import MEND, RangeRead
from gristmill.formats.levanter.array_writer import Values
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import PartObjects

Objects = Mapping[str, tuple[str, int]]
"""(sha256, size in bytes) of each object, by its path."""

OPEN_PARTS = 8
"""Number of parts kept open. Each keeps one inner chunk of each array in memory, about 10 MiB."""

BLOCK = 1 << 20
"""Number of rows whose bounds are in memory at the same time."""

INDEX_MEND = "make the cache's index again"


class Proven:
    """Reads ranges of objects. Each object is hashed in full before any of its bytes are returned.

    Raises, when called:
        DataError: the object is missing, differs from the ledger, or is not in the ledger.
    """

    def __init__(self, store: Store, objects: Objects) -> None:
        self._store, self._objects = store, objects
        self._read = range_reader_of_store(store)
        self._proven: set[str] = set()

    def __call__(self, path: str, start: int, end: int | None, /) -> bytes:
        if path not in self._proven:
            self._prove_object(path)
            self._proven.add(path)
        return self._read(path, start, end)

    def _prove_object(self, path: str) -> None:
        if path not in self._objects:
            raise DataError(f"{path}: no ledger names this object; {MEND}")
        sha256, size = self._objects[path]
        entry = self._store.head(path)
        if entry is None:
            raise DataError(f"{path} is missing; {MEND}")
        if entry.size != size:
            raise DataError(f"{path}: {entry.size} bytes, in its ledger {size}; {MEND}")
        computed = hash_object(self._store, path)
        if computed != sha256:
            raise DataError(f"{path}: its sha256 is {computed}, in its ledger {sha256}: damaged; {MEND}")


class TokenStream:
    """All parts of a split, in order. Opening reads only the split's ledger; parts are opened when they are read.

    Args:
        store: the lake.
        path: the folder of the split's ledger, sharded or consolidated.
        objects: function that gives the ledger's objects of a part, by the part's name; None: objects are not verified.
        merged: bytes of the split's ledger; None: those in the folder.

    Raises:
        DataError: there is no ledger, or it is unfinished or contradicts itself.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        objects: Callable[[str], Objects] | None = None,
        merged: bytes | None = None,
    ) -> None:
        self.path = path
        self._store, self._objects = store, objects
        name = f"{path}/{LEDGER_NAME}"
        if merged is None and (tagged := store.read_tagged(name)) is not None:
            merged = tagged[0]
        if merged is None:
            raise DataError(f"{name}: does not exist yet; make the cache's index")
        ledger = load_ledger(merged, name)
        if not ledger["is_finished"]:
            raise DataError(f"{path}: not a finished cache; {MEND}")
        self.sha256 = hashlib.sha256(merged).hexdigest()
        self._whole = ledger["layout"] == "consolidated"
        self.parts = [""] if self._whole else list(ledger["finished_shards"])
        self.rows = ledger["total_num_rows"]
        self._counts = ledger["field_counts"]
        by_part = [self._counts] if self._whole else [ledger["field_counts_by_shard"].get(p, {}) for p in self.parts]
        rows = [self.rows] if self._whole else [ledger["shard_rows"][p] for p in self.parts]
        self._row_ends = np.cumsum([0, *rows], dtype=np.int64)
        self._ends = {
            field: np.cumsum([0, *(counts.get(field, 0) for counts in by_part)], dtype=np.int64)
            for field in self._counts
        }
        self._open: dict[int, CacheReader] = {}

    @property
    def fields(self) -> list[str]:
        """The names of the fields, the token ids first; empty if the split has no rows."""
        return list(self._counts)

    def count(self, field: str) -> int:
        """The number of elements of a field in all rows."""
        return int(self._part_ends(field)[-1])

    def row_bounds(self, field: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """Where rows [first, last) begin in the field's stream of elements, and where the last of them ends.

        Returns:
            (last - first + 1,) int64.

        Raises:
            IndexError: the split does not have these rows.
            DataError: an object is missing or damaged, or the part is not what the split's ledger says.
        """
        if not 0 <= first <= last <= self.rows:
            raise IndexError(f"rows {first} to {last} of {self.rows}")
        ends = self._part_ends(field)
        by_part = [np.zeros(1, np.int64)] if first == last == 0 else []
        for part, begin, stop in self._element_ranges_by_part(self._row_ends, first, last):
            bounds = self._part_reader(part).bounds(field, begin, stop) + ends[part]
            by_part.append(bounds[1:] if by_part else bounds)
        if not by_part:  # first == last > 0: the result is the end of row first - 1
            return self.row_bounds(field, first - 1, first)[1:]
        return np.concatenate(by_part)

    def read_elements(self, field: str, start: int, stop: int) -> Values:
        """The elements [start, stop) of the field's stream (stop - start,). Raises the errors of `bounds`."""
        ends = self._part_ends(field)
        if not 0 <= start <= stop <= ends[-1]:
            raise IndexError(f"elements {start} to {stop} of {ends[-1]} {field}")
        pieces = self._element_ranges_by_part(ends, start, stop)
        by_part = [self._part_reader(part).elements(field, begin, end) for part, begin, end in pieces]
        return np.concatenate(by_part) if by_part else np.empty(0, np.int32)

    def row(self, field: str, number: int) -> Values:
        """The elements of one row (n); raises the same errors as `bounds`."""
        start, stop = self.row_bounds(field, number, number + 1).tolist()
        return self.read_elements(field, start, stop)

    def lengths(self, *fields: str) -> Iterator[list[npt.NDArray[np.int64]]]:
        """The number of elements of each row, block by block: one array for each field. No element is read."""
        for first in range(0, self.rows, BLOCK):
            last = min(first + BLOCK, self.rows)
            yield [np.diff(self.row_bounds(field, first, last)) for field in fields]

    def row_of_element(self, field: str, element: int) -> int:
        """The number of the row that contains an element of the field's stream; raises the errors of `elements`."""
        ends = self._part_ends(field)
        if not 0 <= element < ends[-1]:
            raise IndexError(f"element {element} of {ends[-1]} {field}")
        part = int(np.searchsorted(ends, element, "right")) - 1
        inside, reader = element - int(ends[part]), self._part_reader(part)
        low, high = 0, reader.rows
        while high - low > 1:  # row `low` begins at or before the element, row `high` after it
            middle = (low + high) // 2
            if int(reader.bounds(field, middle, middle)[0]) <= inside:
                low = middle
            else:
                high = middle
        return int(self._row_ends[part]) + low

    def readers(self) -> Iterator[CacheReader]:
        """The readers of the parts that have rows, in order; raises the same errors as `bounds`."""
        for number in range(len(self.parts)):
            if self._row_ends[number] < self._row_ends[number + 1]:
                yield self._part_reader(number)

    def part_of_row(self, row: int) -> tuple[str, int]:
        """The name of the part that contains a row, and the row's number in it; IndexError if no such row exists."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        part = int(np.searchsorted(self._row_ends, row, "right")) - 1
        return self.parts[part], row - int(self._row_ends[part])

    def first_row_of_part(self, part: str) -> int | None:
        """The number of a part's first row; None if the split's ledger does not name the part."""
        return int(self._row_ends[self.parts.index(part)]) if part in self.parts else None

    def _part_ends(self, field: str) -> npt.NDArray[np.int64]:
        if field not in self._ends and self.rows:
            raise DataError(
                f"{self.path}: its rows have no field {field!r}, but {', '.join(self._counts)}: they were made in"
                " another format; make the token cache again if its mix is a draft, else give the stream that format"
                " again, or declare a mix of another name"
            )
        return self._ends.get(field, np.zeros(len(self.parts) + 1, np.int64))

    def _element_ranges_by_part(
        self, ends: npt.NDArray[np.int64], start: int, stop: int
    ) -> Iterator[tuple[int, int, int]]:
        """(part, begin, end) of each piece of [start, stop). `ends` has the boundaries of the parts."""
        part = int(np.searchsorted(ends, start, "right")) - 1
        while start < stop:
            begin, end = int(ends[part]), min(int(ends[part + 1]), stop)
            if start < end:
                yield part, start - begin, end - begin
                start = end
            part += 1

    def _part_reader(self, number: int) -> CacheReader:
        reader = self._open.pop(number, None)
        if reader is None:
            reader = self._open_part_reader(number)
            while len(self._open) >= OPEN_PARTS:
                del self._open[next(iter(self._open))]
        self._open[number] = reader  # inserted last, so that the first is the least recently used
        return reader

    def _open_part_reader(self, number: int) -> CacheReader:
        name = self.parts[number]
        read: RangeRead = (
            range_reader_of_store(self._store) if self._objects is None else Proven(self._store, self._objects(name))
        )
        reader = CacheReader(read, f"{self.path}/{name}" if name else self.path)
        rows = int(self._row_ends[number + 1] - self._row_ends[number])
        counts = {field: int(ends[number + 1] - ends[number]) for field, ends in self._ends.items()}
        if reader.rows != rows or (rows and reader.ledger["field_counts"] != counts):
            raise DataError(
                f"{reader.path}: {reader.rows} rows and {reader.ledger['field_counts']}, in the split's ledger {rows}"
                f" and {counts}; {INDEX_MEND}"
            )
        return reader


def open_split(store: Store, asset: str, split: str, *, verified: bool = True) -> TokenStream:
    """Opens a split of a stream's token cache, as its index has merged it.

    Args:
        store: the lake.
        asset: the cache's address, `token_caches/<mix>/<tokenizer>/<stream>`.
        split: `train` or `validation`.
        verified: whether each object is verified before it is used. This reads each object once in full. You may skip
            it to read a few rows of a huge cache in a bucket.

    Returns:
        The split.

    Raises:
        DataError: the index does not exist yet. Reading the split also raises it, if an object is missing or damaged,
            or if the slice's ledger no longer names a part.
    """
    top = f"{asset}/{split}/"
    named: dict[str, dict[str, Objects]] = {}

    def objects(part: str) -> Objects:
        snapshot = part.partition("/")[0]
        if snapshot not in named:
            named[snapshot] = _objects_by_part(store, asset, split, snapshot)
        if f"{top}{part}/" not in named[snapshot]:
            raise DataError(f"{top}{part}: the ledger of {snapshot} names no such part; {INDEX_MEND}")
        return named[snapshot][f"{top}{part}/"]

    return TokenStream(store, top.rstrip("/"), objects if verified else None)


def _objects_by_part(store: Store, asset: str, split: str, snapshot: str) -> dict[str, Objects]:
    """The objects of each part of a slice, by the part's folder."""
    partition = place(asset, snapshot)
    records = [PartObjects.decode_from_row(row, partition.table) for row in read_ledger(store, partition)[1]]
    return {record.folders[split]: record.objects for record in records if split in record.folders}
