"""Sketch: how numbers are distributed, in little memory. Sketches of shards are added up, and nothing else is lost."""

import math
import sys
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

_BITS = 46
"""Low bits of a double that are dropped. Sign, exponent and 6 bits of the mantissa are left."""
_SIGN = 1 << 17
_TINY = 2.0**-40
HUGE = 2.0**60
"""Numbers that are farther from 0 than this share a bucket, one for each sign."""


class Sketch(msgspec.Struct, frozen=True):
    """Counts of numbers by bucket. A bucket is at most 1/64 of its numbers wide, so there are at most 13,000.

    A number is counted as the edge of its bucket that is nearer to 0, which is at most 1.6% less; whole numbers up to
    128, and shares such as 0.5 and 0.75, are edges. Numbers nearer to 0 than 2**-40 count as 0, and those that are
    farther than 2**60 as 2**60.

    Attributes:
        counts: number of values in each bucket, by the bucket's key.

    >>> sketch = Sketch.from_numbers(np.array([1.0, 2.0, 2.0, 100.7]))
    >>> sketch.total, sketch.quantile(0.5), sketch.quantile(1)
    (4, 2.0, 100.0)
    """

    counts: dict[int, int] = {}

    @classmethod
    def from_numbers(cls, numbers: NDArray[np.float64], *, floored: bool = False) -> "Sketch":
        """The sketch of finite numbers.

        Args:
            numbers: shape (n,).
            floored: whether each bucket holds its lower edge, also below 0, and no number counts as 2**60: then
                bucket_lower_edge() is a threshold that exactly the numbers of this and later buckets reach. Sketches in
                the lake are not floored.
        """
        if floored:
            numbers = np.where(numbers < 0, np.minimum(np.nextafter(numbers, 0.0), -_TINY), numbers)
        sizes = np.abs(numbers)
        kept = np.where(sizes < _TINY, 0.0, np.copysign(np.minimum(sizes, math.inf if floored else HUGE), numbers))
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
        """The number of values that were counted."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> float:
        """The number of rank ceil(share * total), the least for 0; as the edge of its bucket.

        Args:
            share: rank as a share, from 0 to 1.
        """
        rank = max(1, int(-(-share * self.total // 1)))
        before = 0
        for key, count in self.counts.items():
            before += count
            if before >= rank:
                return bucket_inner_edge(key)
        return 0.0

    def binned_counts(
        self, bins: int, least: float, most: float, *, doubling: bool = False
    ) -> tuple[list[float], list[int]]:
        """A histogram of bins that have whole buckets. So a count is that of all numbers between the edges of its bin.

        A number that is an edge is in the bin on the side away from 0, or in the first or last bin if it is an end.

        Args:
            bins: largest number of bins, 2 or more. There are fewer where the buckets are wide.
            least: the least of the numbers.
            most: the greatest.
            doubling: whether the bins widen with their numbers, by a doubling or an equal part of it; one more bin has
                the zeros. No number is negative then. Else all bins are equally wide.

        Returns:
            The edges of the bins, one more than bins, and the counts. If there are no numbers, or all are in one
            bucket: one bin from the least to the greatest.
        """
        if len(self.counts) < 2:
            return [least, most], [self.total]
        keys = np.array(list(self.counts))
        low, high = (math.copysign(min(abs(end), HUGE), end) if abs(end) >= _TINY else 0.0 for end in (least, most))
        edges = _doubling_bin_edges(keys, bins, high) if doubling else _equal_bin_edges(keys, bins, low, high)
        edges[0], edges[-1] = min(edges[0], least), max(edges[-1], most)  # numbers that count as 0 or 2**60
        inner, numbers = edges[1:-1], _bucket_edges(keys)
        places = np.where(keys < 0, np.searchsorted(inner, numbers, "left"), np.searchsorted(inner, numbers, "right"))
        counts = np.zeros(len(edges) - 1, np.int64)
        np.add.at(counts, places, list(self.counts.values()))
        return edges.tolist(), counts.tolist()


def _equal_bin_edges(keys: NDArray[np.int64], bins: int, low: float, high: float) -> NDArray[np.float64]:
    """Multiples of a power of two. The widest bucket is not wider, so no bucket has such a multiple inside."""
    outer = np.where(keys < 0, -low, high)
    widths = np.minimum(_bucket_edges(np.abs(keys) + 1), outer) - np.abs(_bucket_edges(keys))
    part, power = math.frexp(max((high - low) / bins, *widths[keys != 0].tolist()))
    step = math.ldexp(1.0, power - (part == 0.5))
    while math.ceil(high / step) - math.floor(low / step) > bins:
        step *= 2
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1).astype(np.float64) * step


def _doubling_bin_edges(keys: NDArray[np.int64], bins: int, high: float) -> NDArray[np.float64]:
    """Edges of every so many buckets. A doubling has 64 buckets."""
    first, last = int(keys[keys > 0][0]), int(keys[-1])
    last += high > bucket_inner_edge(last) or last == first
    step = 1
    while -(-last // step) - first // step > bins:
        step *= 2
    edges = _bucket_edges(step * np.arange(first // step, -(-last // step) + 1))
    return np.concatenate(([0.0], edges)) if keys[0] == 0 else edges


def bucket_inner_edge(key: int) -> float:
    """The edge of a bucket that is nearer to 0."""
    return float(_bucket_edges(np.array([key]))[0])


def bucket_lower_edge(key: int) -> float:
    """The lower edge of a bucket; the least finite number if that is lower."""
    return bucket_inner_edge(key) if key >= 0 else -min(bucket_inner_edge(1 - key), sys.float_info.max)


def _bucket_edges(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(keys < 0, -1.0, 1.0) * (np.abs(keys).astype(np.uint64) << np.uint64(_BITS)).view(np.float64)
