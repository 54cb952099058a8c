"""Sketch: how numbers are distributed, in little memory. Sketches of shards are added up, and nothing else is lost."""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_BITS = 46
"""Low bits of a double that are dropped. Sign, exponent and 6 bits of the mantissa are left."""
_SIGN = 1 << 17
_TINY, _HUGE = 2.0**-40, 2.0**60


class Sketch(msgspec.Struct, frozen=True):
    """Counts of numbers by bucket. A bucket is at most 1/64 of its numbers wide, so there are at most 13,000.

    A number is counted as the edge of its bucket that is nearer to 0, which is at most 1.6% less; whole numbers up to
    128, and shares such as 0.5 and 0.75, are edges. Numbers nearer to 0 than 2**-40 count as 0.

    Attributes:
        counts: how many numbers each bucket has, by the bucket's key.

    >>> sketch = Sketch.of(np.array([1.0, 2.0, 2.0, 100.7]))
    >>> sketch.total, sketch.quantile(0.5), sketch.quantile(1)
    (4, 2.0, 100.0)
    """

    counts: dict[int, int] = {}

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> "Sketch":
        """The sketch of finite numbers."""
        sizes = np.abs(numbers)
        kept = np.where(sizes < _TINY, 0.0, np.copysign(np.minimum(sizes, _HUGE), numbers))
        buckets = (kept + 0.0).view(np.uint64) >> np.uint64(_BITS)
        if len(buckets) < _SIGN:
            keys, counts = np.unique(buckets, return_counts=True)
        else:  # counting is faster than sorting if there are more numbers than buckets
            filled = np.bincount(buckets.astype(np.int64), minlength=2 * _SIGN)
            keys = np.flatnonzero(filled).astype(np.uint64)
            counts = filled[filled > 0]
        signed = np.where(keys >= _SIGN, _SIGN - keys.astype(np.int64), keys.astype(np.int64))
        order = np.argsort(signed)
        return cls(dict(zip(signed[order].tolist(), counts[order].tolist(), strict=True)))

    @classmethod
    def sum(cls, sketches: Iterable["Sketch"]) -> "Sketch":
        """The sketch of all numbers of several sketches, in any order."""
        counts: dict[int, int] = {}
        for sketch in sketches:
            for key, count in sketch.counts.items():
                counts[key] = counts.get(key, 0) + count
        return cls(dict(sorted(counts.items())))

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> float:
        """The number of rank ceil(share * total), the least for 0; as the edge of its bucket.

        Args:
            share: from 0 to 1.
        """
        rank = max(1, int(-(-share * self.total // 1)))
        before = 0
        for key, count in self.counts.items():
            before += count
            if before >= rank:
                return edge_of(key)
        return 0.0

    def binned(self, bins: int, *, doubling: bool = False) -> tuple[list[float], list[int]]:
        """A histogram with equal bins from the least to the greatest number.

        Args:
            bins: how many.
            doubling: whether each edge is the one before times a constant, from the least number above 0; one more bin
                has the zeros. No number is negative then.

        Returns:
            The edges of the bins, one more than bins, and the counts. Without numbers, or if all are equal: one bin.
        """
        if not self.counts:
            return [0.0, 0.0], [0]
        least, most = edge_of(next(iter(self.counts))), edge_of(next(reversed(self.counts)))
        if least == most:
            return [least, most], [self.total]
        edges: Any = np.linspace(least, most, bins + 1)
        if doubling:
            above = next(edge for edge in map(edge_of, self.counts) if edge > 0)
            edges = np.geomspace(above, most, bins + 1) if above < most else np.array([most, most])
            edges = np.concatenate(([0.0], edges)) if least == 0 else edges
        counts = [0] * (len(edges) - 1)
        for key, count in self.counts.items():
            place = int(np.searchsorted(edges[1:-1], edge_of(key), "right"))
            counts[place] += count
        return edges.tolist(), counts


def edge_of(key: int) -> float:
    """The edge of a bucket that is nearer to 0."""
    return float(np.array([abs(key) << _BITS], np.uint64).view(np.float64)[0]) * (-1.0 if key < 0 else 1.0)
