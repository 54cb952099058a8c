"""SeenHashes: an exact set of 128-bit hashes that answers in what order they came."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
"""Hashes of 128 bits: shape (n, 2), the high and the low half of each."""


class SeenHashes:
    """Hashes that were seen, in sorted runs of growing size. Adding n hashes takes O(n log n) time on average.

    A hash takes 16 bytes while it rests. While two runs become one, each takes 40.

    >>> seen = SeenHashes()
    >>> seen.add(np.array([[1, 5], [1, 6], [1, 5]], np.uint64)).tolist()
    [False, False, True]
    >>> seen.add(np.array([[2, 2], [1, 6]], np.uint64)).tolist()
    [False, True]
    """

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def __len__(self) -> int:
        return sum(len(high) for high, _ in self._runs)

    @classmethod
    def from_ascending(cls, hashes: Hashes) -> "SeenHashes":
        """The set of ascending hashes, none of them twice.

        Args:
            hashes: shape (n, 2).
        """
        seen = cls()
        seen._keep_hashes(np.ascontiguousarray(hashes[:, 0]), np.ascontiguousarray(hashes[:, 1]))
        return seen

    def sorted_hashes(self) -> Hashes:
        """All hashes in their order, shape (n, 2). They become one run."""
        while len(self._runs) > 1:
            self._merge_last_runs()
        high, low = self._runs[0] if self._runs else (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
        return np.stack([high, low], 1)

    @property
    def nbytes(self) -> int:
        """The size of the hashes in bytes."""
        return sum(high.nbytes + low.nbytes for high, low in self._runs)

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Adds hashes in their order.

        Args:
            hashes: shape (n, 2).

        Returns:
            Whether each was added before: by an earlier call, or earlier in this one (n).
        """
        if not len(hashes):
            return np.zeros(0, np.bool_)
        order = _hash_sort_order(hashes[:, 0], hashes[:, 1])
        high, low = hashes[order, 0], hashes[order, 1]
        first = np.ones(len(order), np.bool_)
        first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        places = np.flatnonzero(first)
        high, low = high[places], low[places]
        known = self._is_known(high, low)
        seen = np.ones(len(order), np.bool_)
        seen[order[places[~known]]] = False
        self._keep_hashes(high[~known], low[~known])
        return seen

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Whether each hash was added before (n). Nothing is added.

        Args:
            hashes: shape (n, 2).
        """
        return self._is_known(hashes[:, 0], hashes[:, 1])

    def _is_known(self, high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.bool_]:
        known = np.zeros(len(high), np.bool_)
        for run in self._runs:
            known |= _is_in_run(run, high, low)
        return known

    def _keep_hashes(self, high: NDArray[Any], low: NDArray[Any]) -> None:
        if len(high):
            self._runs.append((high, low))
        while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) > len(self._runs[-2][0]):
            self._merge_last_runs()

    def _merge_last_runs(self) -> None:
        """The last two runs become one."""
        later, earlier = self._runs.pop(), self._runs.pop()
        highs = np.concatenate([earlier[0], later[0]])
        lows = np.concatenate([earlier[1], later[1]])
        del earlier, later
        order = _hash_sort_order(highs, lows)
        highs = highs[order]
        self._runs.append((highs, lows[order]))


def _hash_sort_order(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.int64]:
    """The stable order of hashes by both halves. Two hashes rarely differ in the low half alone."""
    order = np.argsort(high, kind="stable")
    tied = np.flatnonzero(high[order[1:]] == high[order[:-1]])
    if tied.size and np.any(low[order[tied]] != low[order[tied + 1]]):
        return np.lexsort((low, high))
    return order


def _is_in_run(run: tuple[NDArray[Any], NDArray[Any]], high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each hash is in a run."""
    highs, lows = run
    at = np.searchsorted(highs, high)
    found = np.zeros(len(high), np.bool_)
    (left,) = np.nonzero(at < len(highs))
    while left.size:
        left = left[highs[at[left]] == high[left]]
        found[left] = lows[at[left]] == low[left]
        left = left[~found[left]]
        at[left] += 1
        left = left[at[left] < len(highs)]
    return found
