"""The hashes of a bucket that occur most often, found while its ranges are compared one after another."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.stages.dedupe.comparison import Comparison
from gristmill.stages.fingerprints.repeated_unit import LARGEST, RepeatedUnit, most_repeated

PositionOf = Callable[[int, int], int]
"""The position of a hash, by the rank of a new snapshot and the place of the hash in the file `hashes` of its run."""


class MostRepeated:
    """The hashes of one bucket that occur most often, and at least twice.

    Args:
        position_of: reads a position.

    Attributes:
        found: at most LARGEST, the most frequent first; of equal ones the lower hash.
    """

    def __init__(self, position_of: PositionOf) -> None:
        self._position_of = position_of
        self.found: list[RepeatedUnit] = []

    def add(self, comparison: Comparison, times: Mapping[int, NDArray[np.int64]]) -> None:
        """Looks at the next range of hashes. Positions are read for those alone that are among the first.

        Args:
            comparison: the range, of which all snapshots have been seen.
            times: how often each hash of a new snapshot occurs in it, by rank.
        """
        least = self.found[-1].times + 1 if len(self.found) == LARGEST else 2
        some = np.flatnonzero(comparison.times >= least)
        if len(some) > LARGEST:
            some = some[comparison.times[some] >= np.partition(comparison.times[some], -LARGEST)[-LARGEST]]
        some = some[np.argsort(-comparison.times[some], kind="stable")][:LARGEST]
        if len(some):
            self.found = most_repeated(self.found + [self._unit(comparison, times, at) for at in some.tolist()])

    def _unit(self, comparison: Comparison, times: Mapping[int, NDArray[np.int64]], at: int) -> RepeatedUnit:
        new, first = 0, (0, 0)
        for rank, newcomer in sorted(comparison.newcomers.items(), reverse=True):
            place = int(np.searchsorted(newcomer.places, at))
            if place < len(newcomer.places) and newcomer.places[place] == at:
                new += int(times[rank][place])
                first = rank, newcomer.start + place
        key = f"{int(comparison.hi[at]):016x}{int(comparison.lo[at]):016x}"
        return RepeatedUnit(key, int(comparison.times[at]), new, first[0], self._position_of(*first))
