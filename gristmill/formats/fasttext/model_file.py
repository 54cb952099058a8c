"""ModelFile: the bytes of a fastText model, read in order. What does not fit the file is an error."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError

Floats = NDArray[np.float32]

MOST_NUMBERS = 2**30
"""Most numbers of a matrix (4 GB). A product-quantized matrix of a small file may declare far more."""

_LARGEST = 1e9  # sums of products of such numbers are finite
_CENTROIDS = 256  # a code is one byte


@dataclass
class ModelFile:
    """A reader of the parts of a model file. All numbers are little-endian.

    Args:
        name: name of the file, for messages.
        data: all of its bytes.
        at: the offset of the next part in bytes.
    """

    name: str
    data: bytes
    at: int = 0

    def wrong(self, what: str) -> DataError:
        """The error for a file that is not what it should be."""
        return DataError(f"{self.name}: byte {self.at:,}: {what}; this is no whole fastText model, so fetch it again")

    def numbers(self, form: str) -> tuple[Any, ...]:
        """The next numbers, by their letters in `struct`.

        Raises:
            DataError: the file ends before.
        """
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise self.wrong(f"the file ends, and {size} more bytes are needed")
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return found

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        """The next numbers of one type, shape (count,), as a view of the bytes.

        Args:
            dtype: the type, as numpy names it.
            count: number of elements.

        Raises:
            DataError: the count is negative, or the file ends before.
        """
        size = count * np.dtype(dtype).itemsize
        if count < 0 or self.at + size > len(self.data):
            raise self.wrong(f"{count:,} numbers of {np.dtype(dtype).itemsize} bytes are declared, and they do not fit")
        found = np.frombuffer(self.data, dtype, count, self.at)
        self.at += size
        return found

    def word(self) -> bytes:
        """The next bytes up to a zero byte, which is read too.

        Raises:
            DataError: no zero byte follows.
        """
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise self.wrong("a word does not end")
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def matrix(self, *, quantized: bool) -> Floats:
        """The next matrix, shape (rows, columns).

        Raises:
            DataError: it does not fit the file, is too large, or holds NaN or a number over 10**9.
        """
        found = self._quantized() if quantized else self._dense()
        if not bool((np.abs(found) <= _LARGEST).all()):  # false for NaN too
            raise self.wrong(f"a matrix holds NaN or a number over {_LARGEST:.0e}")
        return found

    def _dense(self) -> Floats:
        rows, columns = self.numbers("qq")
        self._check(rows, columns)
        return self.array("<f4", rows * columns).reshape(rows, columns).astype(np.float32, copy=False)

    def _quantized(self) -> Floats:
        """A matrix whose rows are made of centroids; a row may have a norm, which is quantized too."""
        with_norms, rows, columns, size = self.numbers("?qqi")
        self._check(rows, columns)
        codes = self.array("u1", size)
        found = self._decoded(codes, rows, columns)
        if with_norms:
            found *= self._decoded(self.array("u1", rows), rows, 1)  # rounded to a float32, as fastText rounds it
        return found

    def _decoded(self, codes: NDArray[Any], rows: int, columns: int) -> Floats:
        """The rows of a product quantizer: for each part of the columns a code says which centroid stands there."""
        dimension, parts, width, last = self.numbers("4i")
        if dimension != columns or min(parts, width, last) < 1 or (parts - 1) * width + last != columns:
            raise self.wrong(f"{parts} parts of {width} and {last} columns do not make {columns}")
        if len(codes) != rows * parts:
            raise self.wrong(f"{len(codes):,} codes are not {rows:,} rows of {parts}")
        centroids = self.array("<f4", dimension * _CENTROIDS)
        found = np.empty((rows, columns), np.float32)
        for part in range(parts):
            start = part * width
            wide = last if part == parts - 1 else width
            table = centroids[start * _CENTROIDS : (start + wide) * _CENTROIDS].reshape(_CENTROIDS, wide)
            found[:, start : start + wide] = table[codes[part::parts]]
        return found

    def _check(self, rows: int, columns: int) -> None:
        if rows < 1 or columns < 1 or rows * columns > MOST_NUMBERS:
            raise self.wrong(f"a matrix of {rows:,} x {columns:,} numbers is declared")
