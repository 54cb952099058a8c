"""Reads a file of JSON lines that somebody else wrote: hashed, counted and unpacked at once, in bounded memory."""

import hashlib
from collections.abc import Iterable, Iterator

import xxhash

from gristmill.lake.rows.row_blocks import BLOCK, read_row_blocks
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.rows.unpacking import unpack_gzip

STEP = 1 << 18
"""Least packed bytes between two gzip members that a ledger names: some writers make a member of each 64 KiB."""


class ForeignFile:
    """One file, read once. All attributes but `path` are complete when `read_row_blocks()` has ended.

    Args:
        pieces: the file's bytes.
        path: path of the file, for messages; its ending names the packing.

    Attributes:
        path: path of the file.
        rows: number of rows. The last one may have no line feed.
        bytes: its size.
        length: its unpacked size.
        members: the gzip members that begin with a row, as in a ledger's table. The first is always there.
    """

    def __init__(self, pieces: Iterable[bytes], path: str) -> None:
        self._pieces, self.path = pieces, path
        self._sha256, self._content = hashlib.sha256(), xxhash.xxh3_128()
        self._begins: list[int] = []
        self.rows = self.bytes = self.length = 0
        self.members: list[tuple[int, int]] = [(0, 0)]

    @property
    def sha256(self) -> str:
        """The sha256 (hex) of the file."""
        return self._sha256.hexdigest()

    @property
    def content(self) -> str:
        """The XXH3-128 (hex) of the unpacked bytes."""
        return self._content.hexdigest()

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """The rows, in blocks of complete rows. The last row gets a line feed if it has none.

        Args:
            size: least size of a block in bytes.

        Raises:
            DataError: the file is truncated, is not packed as its name says, or has a row that is too long.
        """
        packed = self._hash_packed_pieces()
        gzip = self.path.lower().endswith(".gz")
        plain = unpack_gzip(packed, self.path, self._begins) if gzip else unpack_pieces(packed, self.path)
        yield from read_row_blocks(self._count_plain_pieces(plain), self.path, size)
        for _ in packed:  # zeros behind the last member
            pass

    def _hash_packed_pieces(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._sha256.update(piece)
            self.bytes += len(piece)
            yield piece

    def _count_plain_pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        ended, seen = True, 0  # whether a row begins with the next piece, and how many members have begun
        for plain in pieces:
            if len(self._begins) > seen:
                seen = len(self._begins)
                if ended and self._begins[-1] >= self.members[-1][0] + STEP:
                    self.members.append((self._begins[-1], self.rows))
            self._content.update(plain)
            self.length += len(plain)
            self.rows += plain.count(b"\n")
            ended = plain.endswith(b"\n")
            yield plain
        self.rows += not ended
