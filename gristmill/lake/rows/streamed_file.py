"""Pieces of bytes as a file that is read from its begin to its end."""

import io
from collections.abc import Iterator
from typing import Any

from gristmill.errors import RecipeError


class _PiecesFile(io.RawIOBase):
    """Pieces of bytes as a file without a position to go to."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        with memoryview(buffer).cast("B") as room:
            count = min(len(room), len(self._rest))
            room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class StreamedFile(io.BufferedReader):
    """A file that says what to do instead of seeking: `zipfile` would take the usual error for a broken archive.

    Args:
        pieces: the bytes, in order.
        path: path of the file, for messages.
    """

    def __init__(self, pieces: Iterator[bytes], path: str) -> None:
        super().__init__(_PiecesFile(pieces))
        self._path = path

    def seek(self, target: int, whence: int = 0, /) -> int:
        raise RecipeError(
            f"{self._path}: the converter opened it as a stream, which cannot seek to {target} (from {whence}); let it"
            " call raw.open(seekable=True)"
        )
