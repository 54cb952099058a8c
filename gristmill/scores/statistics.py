"""Statistics of labels: for each label of a shard its distribution and the rows at its extremes; they can be added."""

import heapq
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.scores.sketch import Sketch

EXTREMES = 5
"""Rows that are kept at each end of a label: ten together."""
GREATEST = sys.float_info.max
"""The greatest finite number."""


class Extreme(NamedTuple):
    """A row at an end of a label: its number (for spans: how many spans it has), its shard, and its number in it."""

    value: float
    shard: str
    row: int


class LabelStatistics(msgspec.Struct, frozen=True):
    """The statistics of one label.

    Attributes:
        name: name of the label, without its set.
        kind: `score`, or `spans`: then the numbers are the spans of each row.
        rows: rows that have the label; with spans also those whose list is empty.
        with_spans: rows with at least one span; of a score 0.
        characters: code points in all spans; overlaps count twice.
        total: sum of all numbers, for the mean; GREATEST or -GREATEST if it is beyond, or unknown.
        least: the least number; 0 without rows.
        most: the greatest.
        sketch: the numbers.
        lowest: rows with the least numbers, the least first; of equal ones the first in the order of the lake.
        highest: rows with the greatest numbers, the greatest first.
    """

    name: str
    kind: Literal["score", "spans"]
    rows: int = 0
    with_spans: int = 0
    characters: int = 0
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0
    sketch: Sketch = Sketch()
    lowest: tuple[Extreme, ...] = ()
    highest: tuple[Extreme, ...] = ()

    @property
    def mean(self) -> float:
        """The mean of the numbers; 0 without rows."""
        return self.total / self.rows if self.rows else 0.0

    def quantile(self, share: float) -> float:
        """The quantile of the sketch, but not outside of least and most. A number beyond 2**60 may be farther from 0.

        Args:
            share: rank as a share, from 0 to 1.
        """
        return min(max(self.sketch.quantile(share), self.least), self.most)


def number_statistics(
    name: str,
    kind: Literal["score", "spans"],
    numbers: NDArray[np.float64],
    rows: NDArray[np.int64],
    shard: str,
    characters: int = 0,
) -> LabelStatistics:
    """The statistics of some rows of a shard.

    Args:
        name: name of the label, without its set.
        kind: kind of the label, as in LabelStatistics.
        numbers: the number of each row that has the label (n).
        rows: the numbers of these rows in the shard, ascending (n).
        shard: name of the shard.
        characters: number of code points in all spans, as in LabelStatistics.
    """
    if not len(numbers):
        return LabelStatistics(name, kind)
    up = np.argsort(numbers, kind="stable")[:EXTREMES]
    down = np.argsort(-numbers, kind="stable")[:EXTREMES]
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(numbers.sum())
    return LabelStatistics(
        name,
        kind,
        rows=len(numbers),
        with_spans=int(np.count_nonzero(numbers)) if kind == "spans" else 0,
        characters=characters,
        total=_finite_sum(total, numbers.tolist()),
        least=float(numbers.min()),
        most=float(numbers.max()),
        sketch=Sketch.from_numbers(numbers),
        lowest=tuple(Extreme(float(numbers[i]), shard, int(rows[i])) for i in up),
        highest=tuple(Extreme(float(numbers[i]), shard, int(rows[i])) for i in down),
    )


def sum_statistics(parts: Sequence[LabelStatistics]) -> LabelStatistics:
    """The statistics of one label over several parts, in the order of the lake. One part or more."""
    full = [part for part in parts if part.rows]
    if len(full) < 2:
        return (full or list(parts))[0]
    totals = [part.total for part in full]
    known = max(map(abs, totals)) < GREATEST
    return LabelStatistics(
        full[0].name,
        full[0].kind,
        rows=sum(part.rows for part in full),
        with_spans=sum(part.with_spans for part in full),
        characters=sum(part.characters for part in full),
        total=_finite_sum(sum(totals), totals) if known else GREATEST,
        least=min(part.least for part in full),
        most=max(part.most for part in full),
        sketch=Sketch.sum(part.sketch for part in full),
        lowest=tuple(_first_extremes((each for part in full for each in part.lowest), 1)),
        highest=tuple(_first_extremes((each for part in full for each in part.highest), -1)),
    )


def _finite_sum(total: float, numbers: Sequence[float]) -> float:
    """A sum as JSON can have it. A sum of finite numbers may pass through infinity."""
    if math.isfinite(total):
        return total
    return float(max(-int(GREATEST), min(sum(map(int, numbers)), int(GREATEST))))


def _first_extremes(extremes: Iterable[Extreme], sign: int) -> list[Extreme]:
    return heapq.nsmallest(EXTREMES, extremes, key=lambda each: (sign * each.value, each.shard, each.row))
