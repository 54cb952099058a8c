"""A consolidated Levanter cache: jagged rows of declared fields, written in one pass and read by ranges.

`<field>/data` holds all rows' elements one after another. `<field>/offsets` is int64: element 0 is the
number of rows, element i the end of row i-1 in `data`; the first row begins at 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import MEND, ArrayReader, RangeRead
from gristmill.formats.levanter.array_writer import ArrayWriter, ObjectSink, OpenObject, Values
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, Ledger, consolidated, dump_ledger, load_ledger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.protocol import Store

Batch = dict[str, tuple[Values, npt.NDArray[np.int64]]]
COPY_ROWS = 65_536
COPY_ELEMENTS = 4 * 2**20


def ranges_of(store: Store) -> RangeRead:
    """Byte ranges of a lake's objects, as the readers take them.

    Sizes are asked for once: caches are never changed once written.
    """
    sizes: dict[str, int] = {}

    def read(path: str, start: int, end: int | None) -> bytes:
        if path not in sizes:
            entry = store.head(path)
            if entry is None:
                raise FileNotFoundError(path)
            sizes[path] = entry.size
        size = sizes[path]
        stop = size if end is None else min(end, size)
        begin = max(0, size + start) if start < 0 else min(start, stop)
        return store.read_range(path, begin, stop) if begin < stop else b""

    return read


class _FieldWriter:
    """One field's data and offsets."""

    def __init__(self, open_object: OpenObject, field: str, dtype: DType, clevel: int) -> None:
        def opener(array: str) -> OpenObject:
            def open_in(name: str) -> ObjectSink:
                return open_object(f"{field}/{array}/{name}")

            return open_in

        self.data = ArrayWriter(opener("data"), dtype, clevel=clevel)
        self.offsets = ArrayWriter(opener("offsets"), "int64", clevel=clevel, reserve=1)
        self.end = 0

    def append(self, flat: Values, lengths: npt.NDArray[np.int64]) -> None:
        ends = np.cumsum(lengths, dtype=np.int64)
        if len(flat) != (ends[-1] if len(ends) else 0) or (len(lengths) and lengths.min() < 0):
            raise ValueError(f"the rows' lengths do not sum to the {len(flat)} elements given")
        self.data.append(flat)
        self.offsets.append(ends + self.end)
        self.end += len(flat)

    def abort(self) -> None:
        self.data.abort()
        self.offsets.abort()

    def close(self, rows: int) -> int:
        self.offsets.close(np.array([rows], np.int64))
        return self.data.close()


class CacheWriter:
    """Writes a consolidated cache, row after row; holds one inner chunk an array (3 to 5 MiB a field).

    The fields are declared, never taken from an example row (Levanter does, and then cannot read some caches
    it wrote: marin issue 7351). The same rows give the same bytes, however they are divided into batches.

    Args:
        open_object: opens an object of the cache's folder for writing, by its name ("input_ids/data/c/0").
        fields: each field's element type, {"input_ids": "int32"}.
        clevel: zstd level of the frames; 5 for caches that Levanter before Marin's must read.
    """

    def __init__(self, open_object: OpenObject, fields: Mapping[str, DType], *, clevel: int = 3) -> None:
        self._open = open_object
        self._fields = {name: _FieldWriter(open_object, name, dtype, clevel) for name, dtype in fields.items()}
        self.rows = 0

    def append_batch(self, batch: Mapping[str, tuple[Values, npt.NDArray[np.int64]]]) -> None:
        """Add rows: for each field all rows' elements one after another, and each row's length.

        Raises:
            ValueError: the fields are not the declared ones, differ in rows, or lengths and elements
                disagree.
            TypeError: elements of another type than declared.
        """
        counts = {len(lengths) for _, lengths in batch.values()}
        if set(batch) != set(self._fields) or len(counts) != 1:
            raise ValueError(f"a batch needs the same rows for each of {sorted(self._fields)}, got {sorted(batch)}")
        for name, (flat, lengths) in batch.items():
            self._fields[name].append(flat, lengths)
        self.rows += counts.pop()

    def abort(self) -> None:
        """Give up: drop the objects that are not finished. Without a ledger the cache does not exist."""
        for field in self._fields.values():
            field.abort()

    def close(
        self, shard_rows: Mapping[str, int] | None = None, preprocessor: Mapping[str, Any] | None = None
    ) -> Ledger:
        """Finish the arrays, then write the ledger, which makes the cache a finished one.

        Args:
            shard_rows: rows of each shard within, in order, for the ledger; by default one without a name.
            preprocessor: Levanter's `preprocessor_metadata`.

        Raises:
            ValueError: `shard_rows` do not sum to the rows written.
        """
        counts = {name: field.close(self.rows) for name, field in self._fields.items()}
        ledger = consolidated({"": self.rows} if shard_rows is None else shard_rows, counts, preprocessor)
        if ledger["total_num_rows"] != self.rows:
            raise ValueError(f"{shard_rows} do not sum to the {self.rows} rows written")
        sink = self._open(LEDGER_NAME)
        sink.write(dump_ledger(ledger))
        sink.close()
        return ledger


class CacheReader:
    """Reads rows of a finished consolidated cache.

    Args:
        read: reads a byte range of an object by its full name.
        path: the cache's folder, as `read` knows it.

    Raises:
        DataError: the ledger is missing, unfinished, sharded (open its parts one by one), or `offsets` say
            otherwise.
    """

    def __init__(self, read: RangeRead, path: str) -> None:
        self.path = path
        try:
            self.ledger = load_ledger(read(f"{path}/{LEDGER_NAME}", 0, None), f"{path}/{LEDGER_NAME}")
        except FileNotFoundError as error:
            raise DataError(f"{path}/{LEDGER_NAME} is missing: an unfinished cache; {MEND}") from error
        if not self.ledger["is_finished"] or self.ledger["layout"] != "consolidated":
            raise DataError(f"{path}: not a finished consolidated cache; {MEND}")
        self.rows = self.ledger["total_num_rows"]
        self.fields = list(self.ledger["field_counts"])
        self._data: dict[str, ArrayReader] = {}
        self._offsets: dict[str, ArrayReader] = {}
        for field in self.fields:
            self._data[field] = ArrayReader(read, f"{path}/{field}/data")
            self._offsets[field] = ArrayReader(read, f"{path}/{field}/offsets")
            self._check(field)

    def _check(self, field: str) -> None:
        """Compare the ledger's counts with the first and last offset (nobody else does)."""
        (rows,) = self._offsets[field].read(0, 1).tolist()
        end = self._offsets[field].read(self.rows, self.rows + 1).tolist()[0] if self.rows else 0
        said = self.rows, self.ledger["field_counts"][field]
        if (rows, end) != said:
            raise DataError(
                f"{self.path}: the ledger says {said[0]} rows and {said[1]} {field}, "
                f"the offsets {rows} and {end}; {MEND}"
            )

    def count(self, field: str) -> int:
        """The field's elements over all rows."""
        return self.ledger["field_counts"][field]

    def dtype(self, field: str) -> str:
        """The type of the field's elements."""
        return self._data[field].dtype

    def bounds(self, field: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """Where rows [first, last) begin, and at last where they end: last - first + 1 numbers, never
        falling.

        Raises:
            IndexError: no such rows.
            DataError: the offsets are damaged.
        """
        if not 0 <= first <= last <= self.rows:
            raise IndexError(f"rows {first} to {last} of {self.rows}")
        bounds: npt.NDArray[np.int64] = self._offsets[field].read(first, last + 1)
        if first == 0:
            bounds[0] = 0  # the row count stands there
        if bounds[0] < 0 or bounds[-1] > self.count(field) or (np.diff(bounds) < 0).any():
            raise DataError(f"{self.path}/{field}/offsets: rows {first} to {last} fall or pass the end; {MEND}")
        return bounds

    def elements(self, field: str, start: int, stop: int) -> Values:
        """Elements [start, stop) of the field's one long stream, whatever the rows.

        Raises:
            IndexError: no such elements.
            DataError: an object is missing, truncated or damaged.
        """
        if not 0 <= start <= stop <= self.count(field):
            raise IndexError(f"elements {start} to {stop} of {self.count(field)} {field}")
        return self._data[field].read(start, stop)

    def row(self, field: str, number: int) -> Values:
        """One row's elements; errors as in `bounds` and `elements`."""
        start, stop = self.bounds(field, number, number + 1).tolist()
        return self.elements(field, start, stop)

    def batches(
        self, first: int, last: int, *, rows: int = COPY_ROWS, elements: int = COPY_ELEMENTS
    ) -> Iterator[Batch]:
        """Rows [first, last) as `CacheWriter.append_batch` takes them.

        A batch ends before `rows` rows or, in any field, `elements` elements are passed, but holds one row
        at least.
        """
        while first < last:
            limit = min(last, first + rows)
            bounds = {field: self.bounds(field, first, limit) for field in self.fields}
            fits = [np.searchsorted(bound, bound[0] + elements, "right") - 1 for bound in bounds.values()]
            count = max(1, min(int(min(fits, default=0)), limit - first))
            yield {
                field: (self.elements(field, int(bound[0]), int(bound[count])), np.diff(bound[: count + 1]))
                for field, bound in bounds.items()
            }
            first += count

    def verify(self) -> None:
        """Read every offset and every element once.

        Raises:
            DataError: the first thing found missing, truncated, damaged or out of order.
        """
        for batch in self.batches(0, self.rows):
            if len({len(lengths) for _, lengths in batch.values()}) != 1:
                raise DataError(f"{self.path}: fields differ in rows; {MEND}")


def copy_range(old: CacheReader, first: int, last: int, new: CacheWriter) -> int:
    """Append rows [first, last) of a finished cache to one being written, and return the number of rows.

    So a part of which one shard changed tokenizes that shard alone; its other shards' rows are copied.

    Raises:
        TypeError: the new cache declares another type for a field.
        ValueError: it declares other fields.
        DataError: the old cache is damaged.
    """
    for batch in old.batches(first, last):
        new.append_batch(batch)
    return last - first
