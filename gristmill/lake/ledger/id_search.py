"""Searches id indexes for repeated and missing ids of a partition, in bounded memory.

An id index has a shard's sorted 128-bit hashes of (source, id). Two ids may share a hash. So each result is confirmed
on the ids in the shard's rows before it is reported.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.identity import HASH_BYTES, Pair, canonical_bytes, hashes_missing_from, load_hashes
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.store.protocol import Store
from gristmill.threads import thread_pool

BUCKET = 1 << 24
"""Number of hashes that are compared at once: at most 256 MB of indexes are read, and half of this is kept."""

AT_ONCE = 16
"""Indexes that are read at the same time: a bucket answers a request in about 20 ms."""

GROUP = 16
"""Indexes that one thread reads, one after another. Reading a small file costs less than starting a thread's task."""

_CONFIRMED_AT_ONCE = 16
"""Repeated hashes whose rows are searched in one pass over their shards."""

Highs = NDArray[np.uint64]
"""The upper 64 bits of hashes."""

ReadIndex = Callable[[str, int, int], bytes]
"""Reads bytes [start, end) of the id index of a shard."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A row that has one of the given hashes: its shard, its number in the shard, and its (source, id)."""

    shard: str
    row: int
    pair: Pair


def index_reader(store: Store, place: Place, known: Mapping[str, bytes] | None = None) -> ReadIndex:
    """A function that reads the indexes of a partition. Indexes in `known` (by shard) are taken from memory."""

    def read(shard: str, start: int, end: int) -> bytes:
        if known and shard in known:
            return known[shard][start:end]
        return store.read_range(place.index(shard), start, end) if start < end else b""

    return read


class _Cursor:
    """Reads one sorted index once, from begin to end, piece by piece as the buckets need it."""

    def __init__(self, read: ReadIndex, shard: Shard, buckets: int) -> None:
        self._read, self._shard = read, shard
        self._step = max(1024, shard.rows // buckets + 1)
        self._next = 0
        self._highs: Highs = np.empty(0, dtype=np.uint64)

    def take_hashes_below(self, limit: int | None) -> Highs:
        """Takes the next hashes whose upper half is less than a limit (None: all that are left)."""
        while self._next < self._shard.rows and (limit is None or not len(self._highs) or int(self._highs[-1]) < limit):
            self._read_more_hashes()
        cut = len(self._highs) if limit is None else int(np.searchsorted(self._highs, np.uint64(limit)))
        taken, self._highs = self._highs[:cut], self._highs[cut:]
        return taken

    def _read_more_hashes(self) -> None:
        end = min(self._next + self._step, self._shard.rows)
        more = load_index_range(self._read, self._shard, self._next, end)[:, 0]
        self._highs = np.concatenate([self._highs, more])
        self._next = end
        if (self._highs[1:] < self._highs[:-1]).any():
            raise DataError(f"the id index of shard {self._shard.name} is not sorted; make its shard again")


def load_index_range(read: ReadIndex, shard: Shard, first: int = 0, last: int | None = None) -> NDArray[np.uint64]:
    """Hashes [first, last) of a shard's index.

    Returns:
        (last - first, 2) uint64: the upper and the lower half of each hash.

    Raises:
        DataError: the index is not sorted, or has fewer hashes than the shard has rows.
    """
    last = shard.rows if last is None else last
    data = read(shard.name, first * HASH_BYTES, last * HASH_BYTES)
    if len(data) != (last - first) * HASH_BYTES:
        raise DataError(
            f"the id index of shard {shard.name} ends early: {len(data) // HASH_BYTES} hashes where its ledger has"
            f" {last - first} rows; make its shard again"
        )
    hashes = load_hashes(data)
    highs = hashes[:, 0]
    if (highs[1:] < highs[:-1]).any():
        raise DataError(f"the id index of shard {shard.name} is not sorted; make its shard again")
    return hashes


def repeated_upper_halves(read: ReadIndex, shards: Sequence[Shard], bucket: int = BUCKET) -> Highs:
    """The hashes that the indexes of a partition contain more than once.

    A partition with more than `bucket` rows is compared in buckets: ranges of the hashes' top bits. Every index is
    read once, piece by piece. Two different ids share the upper half of their hashes once in 10^19 pairs.

    Returns:
        The upper halves of these hashes, sorted (n).

    Raises:
        DataError: an index is not sorted, or has fewer hashes than its shard has rows.
    """
    if sum(shard.rows for shard in shards) <= bucket:
        whole = [hashes[:, 0] for _, hashes in load_indexes(read, shards)]
        return _repeated_values(np.concatenate(whole)) if whole else np.empty(0, dtype=np.uint64)
    buckets = 1
    while sum(shard.rows for shard in shards) > buckets * bucket:
        buckets *= 2
    cursors = [_Cursor(read, shard, buckets) for shard in shards if shard.rows]
    repeated: list[Highs] = [np.empty(0, dtype=np.uint64)]
    with thread_pool(AT_ONCE) as pool:
        for number in range(1, buckets + 1 if cursors else 0):
            limit = number * (2**64 // buckets) if number < buckets else None
            highs = np.concatenate(list(pool.map(lambda cursor: cursor.take_hashes_below(limit), cursors)))  # noqa: B023 - the list is complete before the limit changes
            repeated.append(_repeated_values(highs))
    return np.concatenate(repeated)


def _repeated_values(highs: Highs) -> Highs:
    """The values that occur more than once, without duplicates."""
    highs.sort()
    return np.unique(highs[1:][highs[1:] == highs[:-1]])


def load_indexes(read: ReadIndex, shards: Sequence[Shard]) -> Iterator[tuple[Shard, NDArray[np.uint64]]]:
    """The shards with their whole indexes, each of shape (n, 2), in order; several are read at once. Raises the same
    errors as load_whole.
    """
    groups = [shards[start : start + GROUP] for start in range(0, len(shards), GROUP)]
    with thread_pool(AT_ONCE) as pool:
        for start in range(0, len(groups), AT_ONCE):
            chunk = groups[start : start + AT_ONCE]
            futures = [pool.submit(_load_group, read, group) for group in chunk]
            for group, future in zip(chunk, futures, strict=True):
                yield from zip(group, future.result(), strict=True)


def _load_group(read: ReadIndex, group: Sequence[Shard]) -> list[NDArray[np.uint64]]:
    return [load_index_range(read, shard) for shard in group]


def find_sightings(store: Store, place: Place, shard: Shard, highs: Highs) -> Iterator[Sighting]:
    """The rows of a shard whose hash has one of these upper halves, in row order.

    Raises:
        MalformedRow: a row is not a document.
        StoreError: the shard is not the one that the ledger names. An empty `shard.sha256` skips this comparison.
    """
    searched = set(highs.tolist())
    for first, rows in open_shard(store, place, shard).rows(IdPair, verified=bool(shard.sha256)):
        for number, row in enumerate(rows, start=first):
            if xxhash.xxh3_128_intdigest(canonical_bytes(row.pair)) >> 64 in searched:
                yield Sighting(shard.name, number, row.pair)


def first_duplicate(
    store: Store, place: Place, read: ReadIndex, shards: Sequence[Shard], highs: Highs
) -> tuple[Sighting, Sighting] | None:
    """The first two rows that have the same (source, id), among the rows with these repeated hashes; or None."""
    for start in range(0, len(highs), _CONFIRMED_AT_ONCE):
        chunk = highs[start : start + _CONFIRMED_AT_ONCE]
        seen: dict[Pair, Sighting] = {}
        for shard, hashes in load_indexes(read, shards):
            if not np.isin(chunk, hashes[:, 0]).any():
                continue
            for sighting in find_sightings(store, place, shard, chunk):
                if sighting.pair in seen:
                    return seen[sighting.pair], sighting
                seen[sighting.pair] = sighting
    return None


def missing_hashes(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that `known` does not contain. Both are sorted, of shape (n, 2)."""
    if not len(known) or not len(hashes):
        return hashes
    position = np.minimum(np.searchsorted(known[:, 0], hashes[:, 0]), len(known) - 1)
    candidates = hashes[(known[position] != hashes).any(axis=1)]
    return hashes_missing_from(candidates, known) if len(candidates) else candidates


def possibly_known_hashes(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that `known` may contain, by their upper halves. Both are sorted, of shape (n, 2)."""
    if not len(known) or not len(hashes):
        return hashes[:0]
    position = np.minimum(np.searchsorted(known[:, 0], hashes[:, 0]), len(known) - 1)
    candidates: NDArray[np.uint64] = hashes[known[position, 0] == hashes[:, 0]]
    return candidates
