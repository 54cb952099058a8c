"""Files of numbers in columns, one behind another: read and written within bounds of memory."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Store

Column = NDArray[Any]

HASHES = ("<u8", "<u8")
"""File `hashes` of a run: high and low halves, distinct and ascending."""
POSITIONS = ("<u8",)
"""File `positions` of a run: where each hash occurs first: (number of the shard << 32) + its number in the shard."""
REPEATS = ("<u4", "<u8")
"""File `repeats` of a run: the place of a hash in `hashes`, and where it occurs again; in this order."""
COUNTS = ("<u4", "<u8")
"""File `counts` of a run: the place of each hash that occurs again, and how often it does so."""
FOUND = ("<u8", "<u4", "<u4")
"""A file of verdicts: where a hash occurs first in its snapshot, the rank of the snapshot that has it before, and the
place of the hash in the file `hashes` of that snapshot's run. In the order of the hashes."""

BLOCK = ("<u8", "<u8", "<u4")
"""The block of a bucket in fingerprints: high and low halves, and ordinals in the shard."""

_READ = 8 << 20
"""Bytes of a request for a part of a large file."""
_COPIED = 1 << 20
"""Bytes that are copied at once."""


def row_bytes(types: Sequence[str]) -> int:
    """The bytes of a row of columns of these types.

    >>> row_bytes(HASHES), row_bytes(POSITIONS), row_bytes(REPEATS), row_bytes(FOUND)
    (16, 8, 12, 16)
    """
    return sum(np.dtype(each).itemsize for each in types)


class ByteSink(Protocol):
    """A file that takes bytes."""

    def write(self, data: bytes | memoryview) -> object: ...


class Spill:
    """A temporary folder, made when it is first needed, and removed at the end.

    Args:
        memory: bytes that comparing may use.

    Attributes:
        memory: the same.
        bytes: number of bytes that were written to the folder.
    """

    def __init__(self, memory: int) -> None:
        self.memory, self.bytes = memory, 0
        self._folder: str | None = None
        self._files = 0

    def new_file(self) -> Path:
        """The path of a new file."""
        self._folder = self._folder or tempfile.mkdtemp(prefix="gristmill-dedupe-")
        self._files += 1
        return Path(self._folder, str(self._files))

    def append(self, path: Path, data: bytes | memoryview) -> None:
        """Appends bytes to a file."""
        with path.open("ab") as file:
            file.write(data)
        self.bytes += len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


class ColumnFile:
    """A file of columns, read by rows. It is held in memory, or in a temporary file if a Spill is given.

    Args:
        store: the lake.
        path: path of the file.
        digest: the XXH3-128 (hex) of its bytes, as its ledger names it.
        types: types of its columns, as numpy names them.
        spill: memory and temporary folder that hold the columns; None: memory alone.
        within: the bytes [start, end) of the file that are read; None: all of them.

    Raises:
        DataError: it has other bytes than its ledger names.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        digest: str,
        types: Sequence[str],
        spill: Spill | None = None,
        *,
        within: tuple[int, int] | None = None,
    ) -> None:
        self.path, self._types = path, [np.dtype(each) for each in types]
        self._data, self._held = b"", None
        hashed, size = xxhash.xxh3_128(), 0
        if spill is None:
            self._data = store.read_range(path, *within) if within else store.read(path)
            hashed.update(self._data)
            size = len(self._data)
        else:
            self._held = spill.new_file()
            self._held.touch()
            for piece in _read_byte_range(store, path, *within) if within else store.stream(path):
                hashed.update(piece)
                spill.append(self._held, piece)
                size += len(piece)
        width = row_bytes(types)
        if hashed.hexdigest() != digest or size % width:
            raise DataError(f"{path}: other bytes than its ledger names; make its partition again")
        self.rows = size // width

    def read(self, start: int, stop: int) -> list[Column]:
        """The rows [start, stop) of all columns: an array of shape (stop - start,) for each."""
        return [self.read_column_range(number, start, stop) for number in range(len(self._types))]

    def read_column_range(self, number: int, start: int, stop: int) -> Column:
        """The rows [start, stop) of one column, shape (stop - start,)."""
        before = sum(each.itemsize for each in self._types[:number]) * self.rows
        dtype = self._types[number]
        start, stop = min(start, self.rows), min(stop, self.rows)
        offset = before + start * dtype.itemsize
        if self._held is None:
            return np.frombuffer(self._data, dtype, stop - start, offset)
        return np.fromfile(self._held, dtype, stop - start, offset=offset)

    def blocks(self, most: int) -> Iterator[list[Column]]:
        """All rows, in blocks of at most so many: an array for each column."""
        for start in range(0, self.rows, most):
            yield self.read(start, start + most)


def _read_byte_range(store: Store, path: str, start: int, end: int) -> Iterator[bytes]:
    """The bytes [start, end) of a file, in pieces."""
    for begin in range(start, end, _READ):
        yield store.read_range(path, begin, min(end, begin + _READ))


class ColumnWriter:
    """Columns of a file that is written later. Beyond `most` bytes they are held in temporary files.

    Args:
        types: types of the columns, as numpy names them.
        spill: owner of the temporary files.
        most: bytes that are held in memory.
    """

    def __init__(self, types: Sequence[str], spill: Spill, most: int) -> None:
        self.rows = 0
        self._types = [np.dtype(each) for each in types]
        self._spill, self._most, self._size = spill, most, 0
        self._held: list[list[Column]] = [[] for _ in self._types]
        self._files: list[Path] = []

    def write(self, *columns: Column) -> None:
        """Appends rows: an array for each column."""
        self.rows += len(columns[0])
        for held, column, dtype in zip(self._held, columns, self._types, strict=True):
            held.append(column.astype(dtype, copy=False))
            self._size += held[-1].nbytes
        if self._size > self._most:
            self._write_held_rows()

    def _write_held_rows(self) -> None:
        self._files = self._files or [self._spill.new_file() for _ in self._types]
        for path, held in zip(self._files, self._held, strict=True):
            for column in held:
                self._spill.append(path, array_bytes(column))
            held.clear()
        self._size = 0

    def copy_to(self, file: ByteSink) -> None:
        """Writes all columns to a file, one behind another, and forgets them."""
        for number, held in enumerate(self._held):
            if self._files:
                with self._files[number].open("rb") as source:
                    while piece := source.read(_COPIED):
                        file.write(piece)
                self._files[number].unlink()
            for column in held:
                write_array(file, column)
            held.clear()


def array_bytes(column: Column) -> memoryview:
    """The bytes of an array."""
    return np.ascontiguousarray(column).view(np.uint8).data


def write_array(file: ByteSink, column: Column) -> None:
    """Writes the bytes of an array, in pieces."""
    data = array_bytes(column)
    for start in range(0, len(data), _COPIED):
        file.write(data[start : start + _COPIED])
