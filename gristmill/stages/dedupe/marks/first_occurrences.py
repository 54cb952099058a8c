"""Where each duplicate of a snapshot occurs first: in its own snapshot, or in the one that keeps it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.columns import POSITIONS, REPEATS, ColumnFile
from gristmill.stages.dedupe.hash_order import U64
from gristmill.stages.dedupe.verdicts.reader import VerdictReader
from gristmill.stages.dedupe.verdicts.step import SnapshotRuns
from gristmill.stages.fingerprints.order import Order

_NOWHERE = np.uint64(2**64 - 1)
"""No position: a shard has fewer than 2**32 hashes."""


class FirstOccurrences(NamedTuple):
    """Duplicates of a snapshot. A position is (number of the shard << 32) + number in the shard.

    Attributes:
        positions: place of each duplicate (n).
        ranks: rank, uint32, of the snapshot where its hash occurs first, of those that it is compared with (n).
        firsts: place of its first occurrence in that snapshot (n).
    """

    positions: U64
    ranks: NDArray[np.uint32]
    firsts: U64

    @classmethod
    def read(cls, store: Store, recipe: Dedupe, order: Order, rank: int, shards: tuple[int, int]) -> "FirstOccurrences":
        """Reads the repeats and the verdicts of all buckets, one bucket at a time.

        Args:
            store: the lake.
            recipe: the dedupe recipe.
            order: the order of the snapshots.
            rank: rank of the snapshot.
            shards: its shards [first, last) whose duplicates are wanted.

        Returns:
            The duplicates of the shards.

        Raises:
            DataError: a file is damaged, or was made from others than are there now.
        """
        entry = order.entries[rank]
        runs = SnapshotRuns(store, recipe, entry.source, entry.snapshot)
        verdicts = VerdictReader(store, recipe, order, entry.round)
        found = [
            _first_occurrences_in_bucket(store, runs, verdicts, rank, bucket).in_shards(*shards)
            for bucket in range(recipe.buckets)
        ]
        return join_occurrences(found)

    def in_shards(self, first: int, last: int) -> "FirstOccurrences":
        """The duplicates in the shards [first, last)."""
        shards = self.positions >> np.uint64(32)
        mine = (shards >= first) & (shards < last)
        return FirstOccurrences(self.positions[mine], self.ranks[mine], self.firsts[mine])


def join_occurrences(parts: Sequence[FirstOccurrences]) -> FirstOccurrences:
    """The duplicates of all parts."""
    positions, ranks, firsts = zip(*parts, strict=True)
    return FirstOccurrences(np.concatenate(positions), np.concatenate(ranks), np.concatenate(firsts))


def _first_occurrences_in_bucket(
    store: Store, runs: SnapshotRuns, verdicts: VerdictReader, rank: int, bucket: int
) -> FirstOccurrences:
    before = verdicts.pairs(rank, bucket)
    repeats, places = runs.file(bucket, "repeats"), runs.file(bucket, "positions")
    file = ColumnFile(store, repeats.path, repeats.digest, REPEATS)
    hashes, again = file.read(0, file.rows)
    known = ColumnFile(store, places.path, places.digest, POSITIONS)
    if file.rows and int(hashes.max()) >= known.rows:
        raise DataError(f"{repeats.path}: a hash that {places.path} does not have; make the runs again")
    firsts = known.read_column_range(0, 0, known.rows)[hashes]
    ranks = np.full(len(firsts), rank, np.uint32)
    at = np.searchsorted(before.positions, firsts)
    (kept,) = np.nonzero(np.append(before.positions, _NOWHERE)[at] == firsts)
    ranks[kept], firsts[kept] = before.ranks[at[kept]], before.keepers[at[kept]]
    return join_occurrences([FirstOccurrences(*before), FirstOccurrences(again, ranks, firsts)])
