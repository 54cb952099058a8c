"""The id index of a shard of documents: in which row a (source, id) pair stands, found by two small reads.

The index has three sections: the sorted hashes of the pairs; in the same order the numbers of their rows; in v0 the
raw spans of the rows (lake/rows/raw_spans.py). Gristmill 0.1 wrote the hashes alone. Hashes are spread evenly, so the
place of a hash is known within a few square roots of their number before anything is read.
"""

from collections.abc import Callable
from math import isqrt

import xxhash

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES, Pair, canonical
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store

ReadRange = Callable[[int, int], bytes]
"""Reads bytes [start, end) of an index."""

_SPREAD = 2
"""Four standard deviations of a hash's place are 2 sqrt(rows) at the most."""

_FEW = 64
"""Hashes that are read on both sides in any case."""


def hash_of(pair: Pair) -> bytes:
    """The pair's hash as it stands in an index."""
    return xxhash.xxh3_128_digest(canonical(pair))


def place_of(read: ReadRange, rows: int, wanted: bytes) -> int | None:
    """Where a hash stands among the sorted ones, or None."""
    guess = int.from_bytes(wanted, "big") * rows >> (8 * HASH_BYTES)
    reach = _SPREAD * isqrt(rows) + _FEW
    while rows:
        first, last = max(0, guess - reach), min(rows, guess + reach)
        hashes = read(first * HASH_BYTES, last * HASH_BYTES)
        sure = (first == 0 or hashes[:HASH_BYTES] < wanted) and (last == rows or wanted < hashes[-HASH_BYTES:])
        found = hashes.find(wanted)
        while found % HASH_BYTES and found > 0:
            found = hashes.find(wanted, found + 1)
        if found >= 0:
            return first + found // HASH_BYTES
        if sure:
            return None
        reach *= 8
    return None


class IdIndex:
    """One shard's index in the lake."""

    def __init__(self, store: Store, here: Place, shard: Shard) -> None:
        self._store, self._shard = store, shard
        self.path = here.index(shard.name)
        self._size: int | None = None

    def place_of(self, wanted: bytes) -> int | None:
        """Where a hash stands among the sorted ones, or None."""
        return place_of(lambda start, end: self._store.read_range(self.path, start, end), self._shard.rows, wanted)

    def row_at(self, place: int) -> int | None:
        """The number of the row whose hash stands there; None where the index holds hashes alone.

        Raises:
            DataError: the index is longer than its hashes, but has not a number a row.
        """
        rows = self._shard.rows
        if self._length() == rows * HASH_BYTES:
            return None
        start = rows * HASH_BYTES + place * ROW_BYTES
        if self._length() < rows * (HASH_BYTES + ROW_BYTES):
            raise DataError(f"{self.path}: has not a number for each of {rows} rows; make its shard again")
        return int.from_bytes(self._store.read_range(self.path, start, start + ROW_BYTES), "big")

    def spots(self) -> bytes:
        """The raw spots of the rows, packed; nothing where there are none."""
        start = self._shard.rows * (HASH_BYTES + ROW_BYTES)
        return self._store.read_range(self.path, start, self._length()) if self._length() > start else b""

    def _length(self) -> int:
        if self._size is None:
            entry = self._store.head(self.path)
            if entry is None:
                raise DataError(f"{self.path} is missing; make its shard again")
            self._size = entry.size
        return self._size
