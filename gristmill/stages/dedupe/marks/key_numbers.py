"""KeyNumbers: numbers the documents of each key of a snapshot, in an order that is drawn by a hash.

The order depends on the names of snapshot and shard and on the place in the shard, not on workers or memory.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.stages.dedupe.columns import ColumnFile
from gristmill.stages.dedupe.hash_order import U64, Places
from gristmill.text.units.drawn_numbers import shard_seed, splitmix64_numbers

KEY_MARK = np.dtype([("ordinal", "<u4"), ("number", "<u4"), ("size", "<u4")])
"""A record for each document that shares its key: the number of its hash in the shard, its place among the documents of
the key, from 1, and how many these are. By ascending ordinal."""

_ORDINAL = np.uint64(0xFFFFFFFF)


class KeyNumbers:
    """The numbers of the documents in the shards [first, last).

    Args:
        snapshot: key of the snapshot.
        shards: the names of all its shards, in order.
        hashes: number of hashes of each shard.
        first: number of the first shard.
        last: number after the last one.
        most: positions that are looked at together.
    """

    def __init__(
        self, snapshot: str, shards: Sequence[str], hashes: Sequence[int], first: int, last: int, most: int
    ) -> None:
        self._seeds = np.array([shard_seed(snapshot, name) for name in shards], np.uint64)
        self._hashes, self._first, self._last = np.array(hashes, np.int64), first, last
        self._begins = np.concatenate([[0], np.cumsum(self._hashes[first:last])])
        self._numbers = np.zeros(int(self._begins[-1]), np.uint32)
        self._sizes = np.zeros(int(self._begins[-1]), np.uint32)
        self._most = max(1, most)

    def add(self, firsts: ColumnFile, repeats: ColumnFile) -> None:
        """Numbers the documents of the keys of a bucket.

        Args:
            firsts: the file `positions` of the snapshot's run.
            repeats: its file `repeats`, in which the repeats of a key follow each other.

        Raises:
            DataError: a file names a place that the snapshot does not have.
        """
        begin = 0
        while begin < repeats.rows:
            keys = repeats.read_column_range(0, begin, begin + self._most)
            end = begin + len(keys)
            if end < repeats.rows:
                cut = int(np.searchsorted(keys, keys[-1]))
                if cut == 0:
                    begin = self._add_large(firsts, repeats, begin)
                    continue
                end = begin + cut
            self._add_keys(firsts, repeats, begin, end)
            begin = end

    def shard_key_marks(self, number: int) -> NDArray[np.void]:
        """The KEY_MARK records of a shard, one for each document that shares its key (n)."""
        begin, end = self._begins[number - self._first : number - self._first + 2]
        ordinals = np.flatnonzero(self._sizes[begin:end])
        records = np.zeros(len(ordinals), KEY_MARK)
        records["ordinal"] = ordinals
        records["number"], records["size"] = self._numbers[begin:end][ordinals], self._sizes[begin:end][ordinals]
        return records

    def _add_keys(self, firsts: ColumnFile, repeats: ColumnFile, begin: int, end: int) -> None:
        """Numbers the documents of keys that fit in memory."""
        keys, positions = repeats.read(begin, end)
        distinct = np.unique(keys).astype(np.int64)
        keys = np.concatenate([distinct, keys.astype(np.int64)])
        positions = np.concatenate([self._first_key_positions(firsts, distinct), positions])
        order = np.lexsort((self._draw_key_numbers(positions, repeats.path), keys))
        _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
        numbers = np.arange(len(keys)) - np.repeat(starts, counts) + 1
        self._write_key_numbers(positions[order], numbers, np.repeat(counts, counts))

    def _add_large(self, firsts: ColumnFile, repeats: ColumnFile, begin: int) -> int:
        """Numbers the documents of one key that has very many. Returns where its repeats end.

        They are read once for each range of drawn numbers, so that those of a range fit in memory.
        """
        key = int(repeats.read_column_range(0, begin, begin + 1)[0])
        end = begin
        for start in range(begin, repeats.rows, self._most):
            same = int((repeats.read_column_range(0, start, start + self._most) == key).sum())
            end += same
            if same < self._most:
                break
        ranges = -(-(end - begin + 1) // self._most)
        before = 0
        for number in range(ranges):
            some = list(self._positions_in_draw_range(firsts, repeats, (key, begin, end), (number, ranges)))
            positions = np.concatenate([each for each, _ in some])
            positions = positions[np.argsort(np.concatenate([each for _, each in some]))]
            numbers = np.arange(before, before + len(positions)) + 1
            before += len(positions)
            self._write_key_numbers(positions, numbers, np.full(len(positions), end - begin + 1))
        return end

    def _positions_in_draw_range(
        self, firsts: ColumnFile, repeats: ColumnFile, place: tuple[int, int, int], part: tuple[int, int]
    ) -> Iterator[tuple[U64, U64]]:
        """Positions of a key and their drawn numbers, of those whose drawn numbers are in one range of several."""
        key, begin, end = place
        number, ranges = part
        low, high = (number << 64) // ranges, ((number + 1) << 64) // ranges - 1
        pieces = [self._first_key_positions(firsts, np.array([key]))]
        starts = range(begin, end, self._most)
        for positions in (*pieces, *(repeats.read_column_range(1, at, min(at + self._most, end)) for at in starts)):
            drawn = self._draw_key_numbers(positions, repeats.path)
            mine = (drawn >= np.uint64(low)) & (drawn <= np.uint64(high))
            yield positions[mine], drawn[mine]

    def _first_key_positions(self, firsts: ColumnFile, keys: Places) -> U64:
        """Where each key occurs first; the keys ascend."""
        if len(keys) and int(keys[-1]) >= firsts.rows:
            raise DataError(f"{firsts.path}: it lacks a key; make the runs again")
        found = np.empty(len(keys), np.uint64)
        at = 0
        while at < len(keys):
            start = int(keys[at])
            end = int(np.searchsorted(keys, start + self._most))
            found[at:end] = firsts.read_column_range(0, start, start + self._most)[keys[at:end] - start]
            at = end
        return found

    def _draw_key_numbers(self, positions: U64, path: str) -> U64:
        shards = (positions >> np.uint64(32)).astype(np.int64)
        ordinals = (positions & _ORDINAL).astype(np.int64)
        if len(shards) and (int(shards.max()) >= len(self._hashes) or (ordinals >= self._hashes[shards]).any()):
            raise DataError(f"{path}: a position that the snapshot does not have; make its partition again")
        return splitmix64_numbers(self._seeds[shards] + ordinals.astype(np.uint64))

    def _write_key_numbers(self, positions: U64, numbers: Places, sizes: Places) -> None:
        shards = (positions >> np.uint64(32)).astype(np.int64)
        mine = np.flatnonzero((shards >= self._first) & (shards < self._last))
        places = self._begins[shards[mine] - self._first] + (positions[mine] & _ORDINAL).astype(np.int64)
        self._numbers[places], self._sizes[places] = numbers[mine], sizes[mine]
