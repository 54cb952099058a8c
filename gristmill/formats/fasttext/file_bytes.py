"""FileBytes: the bytes of a fastText model file, read in order and never behind their end."""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = 4 * 65_536 + 1  # bytes of the longest word, with its end: a text without white space, such as a Chinese one


class Flawed(Exception):  # noqa: N818 - the tree reads as English
    """The file contradicts itself; the message says where."""


class FileBytes:
    """Reads values from the bytes of a file. All numbers are little-endian.

    Args:
        data: all bytes of the file.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[Any, ...]:
        """The next numbers.

        Args:
            form: letters of `struct` for them.

        Returns:
            One value for each letter.
        """
        at = self.at
        self.skip(struct.calcsize(f"<{form}"))
        return struct.unpack_from(f"<{form}", self.data, at)

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        """The next numbers of one type, shape (count,), as a view of the bytes.

        Args:
            dtype: type, as numpy names it.
            count: number of elements.
        """
        at = self.at
        self.skip(count * np.dtype(dtype).itemsize)
        return np.frombuffer(self.data, dtype, count, at)

    def word(self) -> bytes:
        """The next bytes up to a zero byte, which is read too.

        Raises:
            Flawed: no zero byte is near.
        """
        at, end = self.at, self.data.find(b"\0", self.at, self.at + _WORD)
        if end < 0:
            raise Flawed(f"the word at byte {at:,} has no end")
        self.at = end + 1
        return self.data[at:end]

    def need(self, size: int) -> None:
        """Checks that so many bytes are left.

        Args:
            size: number of bytes.

        Raises:
            Flawed: fewer are left.
        """
        if size < 0 or size > len(self.data) - self.at:
            raise Flawed(f"byte {self.at:,} needs {size:,} more bytes, but {len(self.data) - self.at:,} are left")

    def skip(self, size: int) -> None:
        """Passes so many bytes.

        Args:
            size: number of bytes.

        Raises:
            Flawed: fewer are left.
        """
        self.need(size)
        self.at += size
