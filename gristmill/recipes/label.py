"""What a tagger declares of its labels: Score, a number for the whole document, and Spans, scored spans of it."""

import math
import re
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from gristmill.errors import RecipeError
from gristmill.lake.rows.label_values import ANY, Kind, is_label_name
from gristmill.recipes.option_types import check_types


@dataclass(frozen=True)
class _Declared:
    """What Score and Spans share."""

    kind: ClassVar[Kind]

    name: str
    meaning: str
    _: KW_ONLY
    unit: str = ""
    low: float | None = None
    high: float | None = None
    optional: bool = False
    exact: bool = False
    words: bool = False

    def __post_init__(self) -> None:
        what = f"label {self.name!r}"
        check_types(self, what)
        if self.name.endswith(ANY) and not self.optional:
            raise RecipeError(f"{what} may be any number of labels, even zero: declare it optional=True")
        if not is_label_name(self.name):
            raise RecipeError(f"{what}: give a name without white space, such as word_count")
        if not self.meaning.strip():
            raise RecipeError(
                f"{what}: say what it means, such as {type(self).__name__}({self.name!r}, 'share of ...')"
            )
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not all(map(math.isfinite, bounds)) or bounds != sorted(bounds):
            raise RecipeError(
                f"{what}: low is {self.low} and high is {self.high}; give finite numbers, the lower first"
            )

    @property
    def meaning_with_unit(self) -> str:
        """The meaning, and the unit unless the meaning says it.

        >>> Score("words", "its words", unit="words").meaning_with_unit
        'its words'
        >>> Score("width", "of the longest line", unit="code points").meaning_with_unit
        'of the longest line (code points)'
        """
        told = not self.unit or re.search(rf"\b{re.escape(self.unit)}\b", self.meaning)
        return self.meaning if told else f"{self.meaning} ({self.unit})"


@dataclass(frozen=True)
class Score(_Declared):
    """A label that is one number for the whole document. A rule reads it by `score("<set>__<name>")`.

    Args:
        name: name of the label, without the set's name. A name that ends with `*` means all labels whose names begin
            so.
        meaning: one line for people: what the number says about the document.
        unit: unit of the number, for people, such as `words`; empty for a share or a probability.
        low: the lowest score that the tagger may give; None is no bound.
        high: the highest.
        optional: whether a document may have no score: the tagger leaves it out or gives None.
        exact: whether scores are written with all their digits. By default they are rounded to five decimals.
        words: whether it depends on words between white space; see gristmill/recipes/word_splitting.py.

    Raises:
        RecipeError: the name, the meaning or a bound is wrong.

    >>> Score("share", "share of letters that are capitals", low=0, high=1, optional=True).kind
    'score'
    """

    kind = "score"


@dataclass(frozen=True)
class Spans(_Declared):
    """A label that is a list of spans, each with a score. A rule reads it by `spans("<set>__<name>")`.

    Args:
        name: name of the label, without the set's name. A name that ends with `*` means all labels whose names begin
            so.
        meaning: one line for people: what the spans are, and what their scores say.
        unit: unit of the scores, for people; empty for a share or a probability.
        low: the lowest score of a span that the tagger may give; None is no bound.
        high: the highest.
        optional: whether a document may have no label. A document in which nothing was found has one: the empty list.
        exact: whether scores are written with all their digits, as in Score.
        words: whether it depends on words between white space, as in Score.

    Raises:
        RecipeError: the name, the meaning or a bound is wrong.

    >>> Spans("words", "each word in capitals", low=1, high=1).kind
    'spans'
    """

    kind = "spans"
