"""The bytes of a tar, and the checks of its first and its last ones."""

from typing import Final, Protocol

from gristmill.errors import DataError

BLOCK: Final = 512
"""Bytes of a header; contents are filled up to a multiple of it."""
_STEP = 1 << 20
_PACKED: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "Zstandard"}


class RangeReader(Protocol):
    """Gives bytes of an object."""

    def __call__(self, offset: int, length: int, /) -> bytes:
        """The bytes from `offset` on, `length` of them or fewer at the end of the object."""


class TarBytes:
    """The bytes of one tar, read by their place.

    Args:
        read: function that gives bytes of the tar.
        size: size of the tar in bytes.
        name: name of the tar, for messages.
    """

    def __init__(self, read: RangeReader, size: int, name: str) -> None:
        self.read = read
        self.size, self.name = size, name

    def check_plain(self) -> None:
        """Checks that the tar is not packed.

        Raises:
            DataError: it begins as a packed file does.
        """
        head = self.read(0, 8)
        for magic, packing in _PACKED.items():
            if head.startswith(magic):
                raise DataError(
                    f"{self.name}: it is packed with {packing}; the loader cannot read it at offsets. Unpack it to a"
                    " plain .tar"
                )

    def bytes_at(self, offset: int, length: int, inside: str) -> bytes:
        """Bytes that must be there.

        Args:
            offset: offset of the first of them.
            length: number of bytes.
            inside: name of what they belong to, for the message.

        Returns:
            All of them.

        Raises:
            DataError: the tar ends before.
        """
        data = self.read(offset, length)
        if len(data) < length:
            raise self.truncated_error(inside)
        return data

    def truncated_error(self, inside: str) -> DataError:
        """The error of a tar that ends too early."""
        return DataError(f"{self.name}: truncated: it ends at byte {self.size}, in {inside}; acquire it again")

    def without_end(self) -> DataError:
        """The error of a tar that ends behind its last member."""
        return DataError(
            f"{self.name}: truncated: it ends at byte {self.size} without the two blocks of zeros that end a tar;"
            " acquire it again"
        )

    def check_end(self, offset: int) -> None:
        """Checks the end of the archive: two blocks of zeros or more, and nothing else behind them.

        Args:
            offset: offset of the first block of zeros.

        Raises:
            DataError: a block is missing, or more follows.
        """
        if self.size - offset < 2 * BLOCK:
            raise DataError(
                f"{self.name}: truncated: one block of zeros at byte {offset} in place of two ends it; pack it again"
            )
        for start in range(offset, self.size, _STEP):
            rest = self.bytes_at(start, min(_STEP, self.size - start), "its end")
            if rest.count(0) < len(rest):
                place = start + next(index for index, byte in enumerate(rest) if byte)
                raise DataError(
                    f"{self.name}: more follows behind the end of the archive (byte {offset}), at byte {place}: two"
                    " archives were joined, or it is damaged; pack its files into one"
                )
