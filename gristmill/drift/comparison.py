"""Compares the numbers of a snapshot with their levels: the medians of the snapshots before it, and with bounds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from gristmill.drift.levels import DROPPED, DUPLICATES, QUANTILES, REMOVED, SIZES, Levels
from gristmill.recipes.drift.bounds import ALL_REASONS, Bounds

LEAST = 2
"""Fewer snapshots before give no level."""
TIMES = (0.5, 2.0)
"""How far a size may be from its level without a warning: from half to double."""
POINTS = 0.1
"""How far a share may be from its level without a warning."""
WIDTH = 0.5
"""How far a quantile may be from its level without a warning: as a multiple of the distance between 5% and 95%."""
SKETCHED = 1 / 32
"""Quantiles are edges of buckets, each at most 1/64 of its numbers wide: two of them may differ by this share."""

Kind = Literal["size", "share", "quantile"]


@dataclass(frozen=True)
class Measure:
    """A number of a snapshot, and what is expected of it.

    Attributes:
        name: name such as `rows` or `rows dropped: too-short`.
        kind: kind of what the number counts, such as rows.
        value: the snapshot's number.
        before: the numbers of earlier snapshots, the oldest first; None where one has no such number.
        level: their median; None if there are too few.
        least: the least value without a warning.
        most: the greatest.
        floor: the least value that is published.
        ceiling: the greatest.
    """

    name: str
    kind: Kind
    value: float
    before: tuple[float | None, ...]
    level: float | None
    least: float = -math.inf
    most: float = math.inf
    floor: float = -math.inf
    ceiling: float = math.inf

    @property
    def is_blocked(self) -> bool:
        """Whether it is outside of what its recipe allows."""
        return not self.floor <= self.value <= self.ceiling

    @property
    def is_wrong(self) -> bool:
        """Whether it is another than expected, or blocked."""
        return self.is_blocked or not self.least <= self.value <= self.most


def compare_levels(now: Levels, before: Sequence[Levels], bounds: Bounds) -> list[Measure]:
    """The numbers of a snapshot, each with what is expected of it.

    Args:
        now: the snapshot's measures.
        before: the measures of earlier snapshots that were made alike, the oldest first.
        bounds: bounds of its recipe.
    """
    return [
        *_size_measures(now, before, bounds),
        *_share_measures(now, before, bounds),
        *_quantile_measures(now, before, bounds),
    ]


def _size_measures(now: Levels, before: Sequence[Levels], bounds: Bounds) -> Iterator[Measure]:
    for name in SIZES:
        if name not in now.sizes:
            continue
        seen = tuple(each.sizes.get(name) for each in before)
        level = _median_level(seen)
        declared = bounds.times.get(name)
        least, most = declared or TIMES
        if level is None:
            yield Measure(name, "size", now.sizes[name], seen, level)
        elif declared:
            yield Measure(name, "size", now.sizes[name], seen, level, floor=least * level, ceiling=most * level)
        else:
            yield Measure(name, "size", now.sizes[name], seen, level, least * level, most * level)


def _share_measures(now: Levels, before: Sequence[Levels], bounds: Bounds) -> Iterator[Measure]:
    ceilings = {DROPPED if name == ALL_REASONS else f"{DROPPED}: {name}": most for name, most in bounds.dropped.items()}
    ceilings |= {f"{REMOVED}: {name}": most for name, most in bounds.removed.items()}
    ceilings |= {DUPLICATES: bounds.duplicates} if bounds.duplicates is not None else {}
    for name in dict.fromkeys(name for each in (now, *before) for name in each.shares):
        seen = tuple(each.shares.get(name, 0.0) for each in before)
        level = _median_level(seen)
        ceiling = ceilings.get(name, math.inf)
        if level is None:
            yield Measure(name, "share", now.shares.get(name, 0.0), seen, level, ceiling=ceiling)
        else:
            least, most = level - POINTS, level + POINTS
            yield Measure(name, "share", now.shares.get(name, 0.0), seen, level, least, most, ceiling=ceiling)


def _quantile_measures(now: Levels, before: Sequence[Levels], bounds: Bounds) -> Iterator[Measure]:
    for label, values in now.quantiles.items():
        seen = [each.quantiles.get(label) for each in before]
        levels = [_median_level([each and each[number] for each in seen]) for number in range(len(QUANTILES))]
        low, high = levels[0], levels[-1]
        allowed = bounds.scores.get(label)
        for number, level in enumerate(levels):
            name = f"{label} {QUANTILES[number]:.0%}"
            was = tuple(each and each[number] for each in seen)
            if level is None or low is None or high is None:
                yield Measure(name, "quantile", values[number], was, None)
                continue
            reach = (WIDTH if allowed is None else allowed) * (high - low) + SKETCHED * abs(level)
            around = (level - reach, level + reach)
            if allowed is None:
                yield Measure(name, "quantile", values[number], was, level, *around)
            else:
                yield Measure(name, "quantile", values[number], was, level, floor=around[0], ceiling=around[1])


def _median_level(seen: Sequence[float | None]) -> float | None:
    known = [each for each in seen if each is not None]
    return median(known) if len(known) >= LEAST else None
