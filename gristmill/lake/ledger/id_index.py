"""The id index of a shard of documents. Two small reads find the row of a (source, id) pair.

The index has three sections: the sorted hashes of the pairs; in the same order the row numbers; in v0 the raw spans of
the rows (lake/rows/raw_spans.py). Gristmill 0.1 wrote only the hashes. Hashes are evenly distributed. So the position
of a hash can be estimated before anything is read, with an error of a few square roots of the number of hashes.
"""

from collections.abc import Callable
from math import isqrt

import xxhash

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES, Pair, canonical_bytes
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store

ReadRange = Callable[[int, int], bytes]
"""Reads bytes [start, end) of an index."""

_SPREAD = 2
"""Four standard deviations of a hash's position are at most 2 sqrt(rows)."""

_FEW = 64
"""The smallest number of hashes that are read on each side of the estimated position."""


def hash_pair(pair: Pair) -> bytes:
    """The hash of a (source, id) pair, as an index contains it: XXH3-128, 16 bytes, big-endian."""
    return xxhash.xxh3_128_digest(canonical_bytes(pair))


def find_hash_position(read: ReadRange, rows: int, digest: bytes) -> int | None:
    """The position of a hash among the sorted hashes, or None if the index does not contain it.

    Args:
        read: function that reads a byte range of the index.
        rows: number of hashes.
        digest: the 16 bytes of the hash, from `hash_pair`.
    """
    guess = int.from_bytes(digest, "big") * rows >> (8 * HASH_BYTES)
    reach = _SPREAD * isqrt(rows) + _FEW
    while rows:
        first, last = max(0, guess - reach), min(rows, guess + reach)
        hashes = read(first * HASH_BYTES, last * HASH_BYTES)
        enclosed = (first == 0 or hashes[:HASH_BYTES] < digest) and (last == rows or digest < hashes[-HASH_BYTES:])
        offset = hashes.find(digest)
        while offset % HASH_BYTES and offset > 0:
            offset = hashes.find(digest, offset + 1)
        if offset >= 0:
            return first + offset // HASH_BYTES
        if enclosed:
            return None
        reach *= 8
    return None


class IdIndex:
    """The id index of one shard in the lake."""

    def __init__(self, store: Store, partition: Place, shard: Shard) -> None:
        self._store, self._shard = store, shard
        self.path = partition.index(shard.name)
        self._size: int | None = None

    def find_position(self, digest: bytes) -> int | None:
        """The position of a hash among the sorted hashes, or None."""
        return find_hash_position(
            lambda start, end: self._store.read_range(self.path, start, end), self._shard.rows, digest
        )

    def row_at(self, place: int) -> int | None:
        """The number of the row whose hash is at a position; None if the index has only hashes.

        Raises:
            DataError: the index is missing, or its section of row numbers is incomplete.
        """
        rows = self._shard.rows
        if self._index_length() == rows * HASH_BYTES:
            return None
        start = rows * HASH_BYTES + place * ROW_BYTES
        if self._index_length() < rows * (HASH_BYTES + ROW_BYTES):
            raise DataError(f"{self.path}: does not have a number for each of {rows} rows; make its shard again")
        return int.from_bytes(self._store.read_range(self.path, start, start + ROW_BYTES), "big")

    def raw_spans(self) -> bytes:
        """The raw spans of the rows, compressed; empty if the index has none."""
        start = self._shard.rows * (HASH_BYTES + ROW_BYTES)
        return self._store.read_range(self.path, start, self._index_length()) if self._index_length() > start else b""

    def _index_length(self) -> int:
        if self._size is None:
            entry = self._store.head(self.path)
            if entry is None:
                raise DataError(f"{self.path} is missing; make its shard again")
            self._size = entry.size
        return self._size
