"""A parquet file that is read group by group, and the row groups of a part of it."""

import io
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pyarrow.parquet as pq

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import Edge
from gristmill.recipes.raw_object import RawObject

WINDOW = 64 << 20
"""Packed size of the largest row group that is read at once. Of a larger one, single pages are read."""
_STEP = 8 << 20


class RangedFile(io.RawIOBase):
    """A raw object as a file that can seek. Nothing but a window is held; other bytes are read when they are asked for.

    Args:
        raw: the object.
    """

    def __init__(self, raw: RawObject) -> None:
        super().__init__()
        self._raw, self._place = raw, 0
        self._first, self._held = 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        """Whether it can seek: always."""
        return True

    def tell(self) -> int:
        """The offset of the next byte to read."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Moves to an offset.

        Args:
            offset: number of bytes from `whence`.
            whence: origin of the offset, as for io.IOBase.seek().

        Returns:
            The new offset, counted from the beginning.
        """
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._raw.size}[whence]
        return self._place

    def read(self, size: int | None = -1, /) -> bytes:
        most = self._raw.size - self._place
        count = most if size is None or size < 0 else min(size, most)
        data = self.at(self._place, self._place + count)
        self._place += len(data)
        return data

    def at(self, start: int, end: int) -> bytes:
        """The bytes [start, end) of the object, or fewer at its end.

        Args:
            start: the first byte.
            end: the byte after the last one.
        """
        low, high = start - self._first, min(end, self._raw.size) - self._first
        if low >= 0 and high <= len(self._held):
            return self._held[low:high]
        return self._raw.read_at(start, min(end, self._raw.size)) if start < self._raw.size else b""

    def hold_window(self, start: int, end: int) -> None:
        """Reads the window [start, end), unless it is larger than WINDOW. The window before it is given up.

        Args:
            start: the first byte.
            end: the byte after the last one.
        """
        self._first, self._held = start, b""
        if end - start <= WINDOW:
            self._held = self._raw.read_at(start, end)

    def pass_over(self, start: int, end: int) -> None:
        """Reads the bytes [start, end) so that they are hashed, and keeps none of them.

        Args:
            start: the first byte.
            end: the byte after the last one.
        """
        for at in range(start, end, _STEP):
            self._raw.read_at(at, min(at + _STEP, end))


class RowGroup(NamedTuple):
    """A row group.

    Attributes:
        number: number of the group, from 0.
        first: the number of its first row in the file.
        start: its first byte.
        end: the byte after its last one.
    """

    number: int
    first: int
    start: int
    end: int


def row_groups_of_part(file: pq.FileMetaData, raw: RawObject) -> Iterator[RowGroup]:
    """The row groups of an object, or of its part, in order. The edges of the part are set.

    A group belongs to the part in which its first column begins; the first group begins with the file.

    Args:
        file: the index at the file's end.
        raw: the object.
    """
    groups = _row_groups_of_file(file)
    if raw.part is None:
        yield from groups
        return
    begins = [0, *(group.start for group in groups[1:])]
    low, high = raw.part
    ordered = all(one < other for one, other in pairwise(begins)) and begins[-1] < raw.size
    if ordered:
        own = [number for number, begin in enumerate(begins) if low <= begin < high]
    else:
        own = [] if low else [*range(len(begins))]  # all belong to the first part
    raw.edges = (None, None)
    if own:
        last = own[-1] + 1
        raw.edges = (Edge(begins[own[0]]), Edge(begins[last] if last < len(begins) else raw.size))
    yield from (groups[number] for number in own if number < len(groups))


def check_index(file: pq.ParquetFile, path: str) -> None:
    """Checks that the index at a file's end gives the same number of rows in all places.

    Args:
        file: the file.
        path: path of the file, for messages.

    Raises:
        DataError: the row groups have more or fewer rows than the file, or a column than its row group.
    """
    index, schema = file.metadata, file.schema
    groups = [index.row_group(number) for number in range(index.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows != index.num_rows:
        raise DataError(
            f"{path}: damaged: its index says {index.num_rows} rows, and its row groups have {rows}; upload it again"
        )
    flat = [schema.column(number).max_repetition_level == 0 for number in range(index.num_columns)]
    for number, group in enumerate(groups):
        for place, one_each in enumerate(flat):
            column = group.column(place)
            if column.num_values < group.num_rows or (one_each and column.num_values > group.num_rows):
                raise DataError(
                    f"{path}: damaged: row group {number} has {group.num_rows} rows, and its column"
                    f" {column.path_in_schema} {column.num_values} values; upload it again"
                )


def _row_groups_of_file(file: pq.FileMetaData) -> list[RowGroup]:
    found: list[RowGroup] = []
    rows, at = 0, 4  # the file begins with the letters PAR1
    for number in range(file.num_row_groups):
        group = file.row_group(number)
        columns = [group.column(each) for each in range(group.num_columns)]
        starts = [column_start(column) for column in columns]
        start = min(starts, default=at)
        at = max((s + column.total_compressed_size for s, column in zip(starts, columns, strict=True)), default=start)
        found.append(RowGroup(number, rows, start, at))
        rows += group.num_rows
    return found


def column_start(column: pq.ColumnChunkMetaData) -> int:
    """The first byte of a column's pages in a row group: of its dictionary, if it has one."""
    return min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0)
