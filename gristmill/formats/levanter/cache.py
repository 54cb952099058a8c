"""A consolidated Levanter cache: rows of variable length with declared fields, written once and read by ranges.

`<field>/data` holds the elements of all rows, one row after another. `<field>/offsets` is int64. Its element 0 is the
number of rows; element i is the end of row i-1 in `data`. The first row begins at 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import MEND, ArrayReader, RangeRead
from gristmill.formats.levanter.array_writer import ArrayWriter, ObjectSink, OpenObject, Values
from gristmill.formats.levanter.cache_ledger import (
    LEDGER_NAME,
    CacheLedger,
    consolidated_ledger,
    dump_ledger,
    load_ledger,
)
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.protocol import Store

Batch = dict[str, tuple[Values, npt.NDArray[np.int64]]]
"""Rows: for each field the elements of all rows, shape (elements,), and the length of each row, shape (rows,)."""

COPY_ROWS = 65_536
COPY_ELEMENTS = 4 * 2**20


def range_reader_of_store(store: Store) -> RangeRead:
    """A function that reads byte ranges of the store's objects, for `CacheReader` and `ArrayReader`.

    It asks for the size of each object only once: a written cache never changes.
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
    """Writes the data and offsets of one field."""

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
            raise ValueError(f"the lengths of the rows do not sum to the {len(flat)} elements given")
        self.data.append(flat)
        self.offsets.append(ends + self.end)
        self.end += len(flat)

    def close(self, rows: int) -> int:
        self.offsets.close(np.array([rows], np.int64))
        return self.data.close()


class CacheWriter:
    """Writes a consolidated cache, batch after batch. Memory holds one inner chunk per array (3 to 5 MiB per field).

    The caller declares the fields. Levanter takes them from an example row, and then cannot read some of its own
    caches (marin issue 7351). The same rows give the same bytes, however they are divided into batches.

    Args:
        open_object: function that opens an object of the cache's folder for writing, by its name
            ("input_ids/data/c/0").
        fields: the element type of each field, {"input_ids": "int32"}.
        clevel: zstd level of the frames; 5 for caches that Levanter before Marin's version must read.

    `CacheReader` has an example.
    """

    def __init__(self, open_object: OpenObject, fields: Mapping[str, DType], *, clevel: int = 3) -> None:
        self._open = open_object
        self._fields = {name: _FieldWriter(open_object, name, dtype, clevel) for name, dtype in fields.items()}
        self.rows = 0

    def append_batch(self, batch: Mapping[str, tuple[Values, npt.NDArray[np.int64]]]) -> None:
        """Appends rows.

        Args:
            batch: elements of all rows, shape (elements,), and the length of each row, shape (rows,), by field.

        Raises:
            ValueError: the fields are not the declared ones, they differ in their number of rows, or the lengths do
                not sum to the elements.
            TypeError: elements have another type than declared.
        """
        counts = {len(lengths) for _, lengths in batch.values()}
        if set(batch) != set(self._fields) or len(counts) != 1:
            raise ValueError(f"a batch needs the same rows for each of {sorted(self._fields)}, got {sorted(batch)}")
        for name, (flat, lengths) in batch.items():
            self._fields[name].append(flat, lengths)
        self.rows += counts.pop()

    def close(
        self, shard_rows: Mapping[str, int] | None = None, preprocessor: Mapping[str, Any] | None = None
    ) -> CacheLedger:
        """Finishes the arrays, then writes the ledger. Readers accept the cache from then on.

        Args:
            shard_rows: rows of each shard, in order, for the ledger; by default one shard with an empty name.
            preprocessor: Levanter's `preprocessor_metadata`.

        Returns:
            The ledger.

        Raises:
            ValueError: `shard_rows` do not sum to the rows written.
        """
        counts = {name: field.close(self.rows) for name, field in self._fields.items()}
        ledger = consolidated_ledger({"": self.rows} if shard_rows is None else shard_rows, counts, preprocessor)
        if ledger["total_num_rows"] != self.rows:
            raise ValueError(f"{shard_rows} do not sum to the {self.rows} rows written")
        sink = self._open(LEDGER_NAME)
        sink.write(dump_ledger(ledger))
        sink.close()
        return ledger


class CacheReader:
    """Reads rows of a finished consolidated cache.

    Args:
        read: function that reads a byte range of an object by its full name.
        path: full name of the cache's folder, without a closing slash.

    Raises:
        DataError: the ledger is missing, unfinished or sharded (open the parts one by one), or it contradicts the
            offsets.

    >>> from tempfile import TemporaryDirectory
    >>> from gristmill.lake.store.open import open_store
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(folder)
    ...     writer = CacheWriter(lambda name: store.upload(f"demo/{name}"), {"input_ids": "int32"})
    ...     writer.append_batch({"input_ids": (np.array([7, 8, 9], np.int32), np.array([2, 1]))})
    ...     ledger = writer.close()
    ...     reader = CacheReader(range_reader_of_store(store), "demo")
    ...     reader.rows, reader.count("input_ids"), reader.row("input_ids", 0).tolist()
    (2, 3, [7, 8])
    """

    def __init__(self, read: RangeRead, path: str) -> None:
        self.path = path
        try:
            self.ledger = load_ledger(read(f"{path}/{LEDGER_NAME}", 0, None), f"{path}/{LEDGER_NAME}")
        except FileNotFoundError as error:
            raise DataError(f"{path}/{LEDGER_NAME} is missing: the cache was not finished; {MEND}") from error
        if not self.ledger["is_finished"] or self.ledger["layout"] != "consolidated":
            raise DataError(f"{path}: not a finished consolidated cache; {MEND}")
        self.rows = self.ledger["total_num_rows"]
        self.fields = list(self.ledger["field_counts"])
        self._data: dict[str, ArrayReader] = {}
        self._offsets: dict[str, ArrayReader] = {}
        for field in self.fields:
            self._data[field] = ArrayReader(read, f"{path}/{field}/data")
            self._offsets[field] = ArrayReader(read, f"{path}/{field}/offsets")
            self._check_field_count(field)

    def _check_field_count(self, field: str) -> None:
        """Compares the ledger's counts with the first and the last offset; Levanter does not."""
        (rows,) = self._offsets[field].read(0, 1).tolist()
        end = self._offsets[field].read(self.rows, self.rows + 1).tolist()[0] if self.rows else 0
        recorded = self.rows, self.ledger["field_counts"][field]
        if (rows, end) != recorded:
            raise DataError(
                f"{self.path}: the ledger says {recorded[0]} rows and {recorded[1]} {field}, "
                f"the offsets {rows} and {end}; {MEND}"
            )

    @property
    def objects(self) -> list[str]:
        """The full names of all objects of the cache."""
        data = (name for field in self.fields for name in self._data[field].objects(self.count(field)))
        offsets = (name for field in self.fields for name in self._offsets[field].objects(self.rows + 1))
        return [f"{self.path}/{LEDGER_NAME}", *data, *offsets]

    def count(self, field: str) -> int:
        """The number of elements of the field, over all rows."""
        return self.ledger["field_counts"][field]

    def dtype(self, field: str) -> str:
        """The name of the field's element type, such as "int32"."""
        return self._data[field].dtype

    def bounds(self, field: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """The boundaries of rows [first, last) in the field's elements.

        Args:
            field: a field of the cache.
            first: number of the first row.
            last: number of the row after the last one.

        Returns:
            Shape (last - first + 1,), ascending: row i has the elements from `bounds[i - first]` to before
            `bounds[i - first + 1]`.

        Raises:
            IndexError: the cache has no such rows.
            DataError: the offsets are damaged.
        """
        if not 0 <= first <= last <= self.rows:
            raise IndexError(f"rows {first} to {last} of {self.rows}")
        bounds: npt.NDArray[np.int64] = self._offsets[field].read(first, last + 1)
        if first == 0:
            bounds[0] = 0  # element 0 of the offsets is the row count
        if bounds[0] < 0 or bounds[-1] > self.count(field) or (np.diff(bounds) < 0).any():
            raise DataError(
                f"{self.path}/{field}/offsets: the ends of rows {first} to {last} fall or pass the end; {MEND}"
            )
        return bounds

    def elements(self, field: str, start: int, stop: int) -> Values:
        """Elements [start, stop) of a field, counted over all rows.

        Args:
            field: a field of the cache.
            start: number of the first element.
            stop: number of the element after the last one.

        Returns:
            Shape (stop - start,).

        Raises:
            IndexError: the field has no such elements.
            DataError: an object is missing, truncated or damaged.
        """
        if not 0 <= start <= stop <= self.count(field):
            raise IndexError(f"elements {start} to {stop} of {self.count(field)} {field}")
        return self._data[field].read(start, stop)

    def row(self, field: str, number: int) -> Values:
        """The elements of one row, shape (length of the row,).

        Args:
            field: a field of the cache.
            number: the row, counted from 0.

        Raises:
            IndexError: the cache has no such row.
            DataError: the offsets or the elements are damaged.
        """
        start, stop = self.bounds(field, number, number + 1).tolist()
        return self.elements(field, start, stop)

    def batches(
        self, first: int, last: int, *, rows: int = COPY_ROWS, elements: int = COPY_ELEMENTS
    ) -> Iterator[Batch]:
        """Rows [first, last) in batches, for `CacheWriter.append_batch`.

        Args:
            first: number of the first row.
            last: number of the row after the last one.
            rows: most rows of a batch.
            elements: most elements of a batch in any field; a batch with a single row may have more.

        Yields:
            The batches in order, each with one row or more.
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
        """Reads every offset and every element once.

        Raises:
            DataError: something is missing, truncated, damaged or out of order; the message names the first such place.
        """
        for _ in self.batches(0, self.rows):
            pass


def copy_range(old: CacheReader, first: int, last: int, new: CacheWriter) -> int:
    """Copies rows [first, last) of a finished cache to the end of one being written.

    If one shard of a part changed, only that shard is tokenized again; the rows of the other shards are copied.

    Args:
        old: the finished cache.
        first: number of the first row.
        last: number of the row after the last one.
        new: the cache being written.

    Returns:
        The number of rows copied.

    Raises:
        TypeError: the new cache declares another type for a field.
        ValueError: the new cache declares other fields.
        DataError: the old cache is damaged.
    """
    for batch in old.batches(first, last):
        new.append_batch(batch)
    return last - first
