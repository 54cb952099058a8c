"""Compares the hashes of one range over all snapshots of a round: who has each hash first."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.stages.dedupe.hash_order import Places, differ_from_previous, sort_hashes
from gristmill.stages.dedupe.merging import Window

_LAST = np.iinfo(np.int32).max


class Newcomer:
    """The hashes of one new snapshot in a range.

    Attributes:
        rank: rank of the snapshot.
        start: the place of the first hash in the file `hashes` of its run.
        places: place of each of its hashes among all distinct hashes of the range, ascending (n).
    """

    def __init__(self, rank: int, start: int, places: Places) -> None:
        self.rank, self.start, self.places = rank, start, places


class Comparison:
    """The distinct hashes that new snapshots have in a range, and what is known of each of them.

    Args:
        ranks: ranks of the new snapshots.
        window: their hashes.

    Attributes:
        hi: high halves of the distinct hashes.
        lo: low halves.
        first: the lowest rank that has each of them.
        times: number of times that each hash occurs in each new snapshot.
    """

    def __init__(self, ranks: Sequence[int], window: Window) -> None:
        at, hi, lo = sort_hashes(*(np.concatenate([each[number] for each in window]) for number in (1, 2)))
        new = np.ones(len(hi), bool)
        new[1:] = differ_from_previous(hi, lo)
        self.hi, self.lo = hi[new], lo[new]
        places = np.empty(len(hi), np.int64)
        places[at] = np.cumsum(new) - 1
        self.newcomers: dict[int, Newcomer] = {}
        end = 0
        for rank, (start, high, _) in zip(ranks, window, strict=True):
            begin, end = end, end + len(high)
            self.newcomers[rank] = Newcomer(rank, start, places[begin:end])
        self.first = np.full(len(self.hi), _LAST, np.int32)
        self.times = np.zeros(len(self.hi), np.int64)

    def add_snapshot(self, rank: int, places: Places, times: NDArray[np.int64] | int) -> None:
        """A snapshot has the hashes at these places, each so many times."""
        self.first[places] = np.minimum(self.first[places], rank)
        self.times[places] += times


class Keepers:
    """The first member of a family that has each hash of a range.

    Args:
        comparison: the hashes.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._ranks = np.full(len(comparison.hi), -1, np.int32)
        self._indexes = np.zeros(len(comparison.hi), np.uint32)

    def find_kept_hashes(self, newcomer: Newcomer) -> tuple[Places, NDArray[np.int32], NDArray[np.uint32]]:
        """The hashes of a new snapshot that a member before it has.

        Returns:
            For each of them: its place in the file `hashes` of the new snapshot, and rank and place where it is kept.
        """
        ranks = self._ranks[newcomer.places]
        hits = np.flatnonzero(ranks >= 0)
        return hits + newcomer.start, ranks[hits], self._indexes[newcomer.places[hits]]

    def add_kept_hashes(self, rank: int, places: Places, indexes: Places) -> None:
        """A member has the hashes at these places; it keeps those that no member before it has.

        Args:
            rank: rank of the member.
            places: place of each hash in the range (n).
            indexes: index of each hash in the file `hashes` of its run (n).
        """
        free = self._ranks[places] < 0
        self._ranks[places[free]] = rank
        self._indexes[places[free]] = indexes[free]


def count_first_occurrences(
    comparison: Comparison, times: Mapping[int, NDArray[np.int64]]
) -> Iterator[tuple[int, int, int]]:
    """The number of fingerprints of each new snapshot by the snapshot where they occur first: (rank, first rank,
    fingerprints).

    Args:
        comparison: the hashes, of which all snapshots have been seen.
        times: number of times that each hash of a new snapshot occurs in it, by rank (n).
    """
    for rank, newcomer in comparison.newcomers.items():
        firsts = comparison.first[newcomer.places]
        sums = np.bincount(firsts, times[rank], minlength=0) if len(firsts) else np.zeros(0)
        yield from ((rank, int(other), int(sums[other])) for other in np.flatnonzero(sums))


def counts_by_power(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of values that are in [2**k, 2**(k + 1)), by k (k).

    >>> counts_by_power(np.array([1, 1, 2, 3, 4])).tolist()
    [2, 2, 1]
    """
    exact = np.frexp(times.astype(np.float64))[1] - 1
    return np.bincount(exact) if len(exact) else np.zeros(0, np.int64)
