"""Bounds: how far a snapshot may differ from those before it, and which shares it may lose. Outside, nothing is made.

The check `volume` compares each partition with them before it is published (gristmill/pipeline/volume.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated

from msgspec import Meta

from gristmill.errors import RecipeError, known_names
from gristmill.recipes.option_types import check_types

ALL_REASONS = "*"
"""In `Bounds.dropped`: all reasons together."""

Share = Annotated[float, Meta(ge=0, le=1)]
Times = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds of the partitions of an asset. One that is outside is not published: the check `volume` fails.

    The level of a number is its median in up to five snapshots before. Multiples of a level and `scores` decide nothing
    if fewer than two snapshots are before; `dropped`, `removed` and `duplicates` decide from the first snapshot on.

    Attributes:
        rows: least and most rows, as multiples of the level: (0.5, 2.0) is from half to double.
        bytes: the same of the size of the stored objects.
        tokens: the same of the tokens, in the token caches of a stream.
        dropped: the largest share of the rows read that may be dropped for a reason, by the reason as ledgers name it:
            the name of a rule, `blocklist: takedowns`, `quarantine: empty text`. `*`: for all reasons together.
        removed: the largest share of characters that may be removed from the texts that are changed, by what changes
            them: `edits`, or `transform whitespace-1`. Rows that are dropped later count. Those that `least_kept`
            or the transform itself drops do not: bound them by `dropped`.
        duplicates: the largest share of documents that a dedupe recipe may mark as duplicates; of KeyUnits, of those
            numbered 2 or more.
        scores: largest distance of the quantiles of a label (5%, 50%, 95%) from their levels, by label: as a
            multiple of the distance between the levels of 5% and 95%.

    >>> Bounds(rows=(0.5, 2.0), dropped={"too-short": 0.3}).rows
    (0.5, 2.0)
    """

    rows: Times | None = None
    bytes: Times | None = None
    tokens: Times | None = None
    dropped: Mapping[str, Share] = field(default_factory=dict)
    removed: Mapping[str, Share] = field(default_factory=dict)
    duplicates: Share | None = None
    scores: Mapping[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks types and ranges.

        Raises:
            RecipeError: one of them is wrong.
        """
        check_types(self, "bounds")
        for name, times in self.times.items():
            if len(times) != 2 or not 0 <= times[0] <= times[1]:
                raise RecipeError(
                    f"bounds: {name} is {times}; give the least and the most, as multiples of the level: (0.5, 2.0)"
                )

    @property
    def times(self) -> dict[str, Times]:
        """The bounds that are multiples of a level, by the name of the number."""
        found = {"rows": self.rows, "bytes": self.bytes, "tokens": self.tokens}
        return {name: times for name, times in found.items() if times is not None}

    @property
    def declared(self) -> list[str]:
        """The names of the options that are given."""
        return [each.name for each in fields(self) if getattr(self, each.name) not in (None, {})]


NO_BOUNDS = Bounds()


def check_bounds(
    bounds: Bounds | None,
    what: str,
    takes: Collection[str],
    *,
    reasons: Collection[str] = (),
    begins: tuple[str, ...] = (),
    changes: Collection[str] = (),
) -> None:
    """Checks that a recipe has what its bounds name: a bound of nothing would never hold anything back.

    Args:
        bounds: bounds of the recipe; None: it has none.
        what: the recipe, for messages.
        takes: the options of Bounds that a recipe of this kind may give.
        reasons: the reasons for which its rows may be dropped.
        begins: beginnings of other reasons whose ends are made by code.
        changes: names of the edits that change its texts.

    Raises:
        RecipeError: an option is of another kind of recipe, or a name is misspelt.
    """
    if bounds is None:
        return
    for option in bounds.declared:
        if option not in takes:
            raise RecipeError(f"{what}: bounds has {option}, which it does not count; it takes {', '.join(takes)}")
    known = [*reasons, *(f"{begin}..." for begin in begins), ALL_REASONS]
    for reason in bounds.dropped:
        if reason not in known and not reason.startswith(begins):
            raise RecipeError(f"{what}: bounds: no row is dropped for {reason!r}; {known_names(reason, known)}")
    for name in bounds.removed:
        if name not in changes:
            raise RecipeError(f"{what}: bounds: {name!r} changes no text; {known_names(name, changes)}")
