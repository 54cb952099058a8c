"""What a selection declares about the text of the rows that it keeps: spans that are deleted, replaced or masked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gristmill.errors import RecipeError
from gristmill.recipes.option_types import check_types
from gristmill.recipes.rules import Column

Overlaps = Literal["union", "first"]
"""What happens to spans that overlap: see Selection."""

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's property White_Space. Python's `str.strip()` takes four more."""

_EDITED = "edits_"
"""The names of the columns that edits read begin so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes the parts of a text that an attribute set marks.

    Give exactly one of `replacement` and `mask`. Spans of all edits that overlap are one stretch of text. It is changed
    once, by the edit of its first span; if two spans begin together, by the edit that is declared first. An empty span
    marks nothing.

    Attributes:
        spans: the attribute, `<set>__<label>`. Its offsets count code points of the version that is read.
        replacement: the text that takes the place of each stretch; "" deletes it.
        mask: one character, which takes the place of each code point. So the length of the text stays.
        least: only spans with this score or a higher one; None: all.
        below: only spans with a lower score than this; None: all.
        optional: whether all rows of a shard may lack the label. Otherwise such a shard is an error, because the label
            may be misspelt, and then nothing would be changed. It is no part of the recipe.

    Raises:
        RecipeError: the attribute is not `<set>__<label>`, or one of the other options is wrong.

    >>> Edit(spans="pii-1__email", replacement="|||EMAIL_ADDRESS|||", least=0.5).parameters()
    {'spans': 'pii-1__email', 'replacement': '|||EMAIL_ADDRESS|||', 'least': 0.5}
    """

    spans: str
    replacement: str | None = None
    mask: str | None = None
    least: float | None = None
    below: float | None = None
    optional: bool = False

    def __post_init__(self) -> None:
        who = f"edit of {self.spans!r}"
        check_types(self, who)
        if not all(self.spans.partition("__")):
            raise RecipeError(f"{who}: spans= takes an attribute '<set>__<label>', such as pii-1__email")
        if (self.replacement is None) == (self.mask is None):
            raise RecipeError(f"{who}: give replacement='...' ('' deletes the spans) or mask='*', and not both")
        if self.mask is not None and len(self.mask) != 1:
            raise RecipeError(f"{who}: mask is {self.mask!r}; give one character")
        if self.least is not None and self.below is not None and self.least >= self.below:
            raise RecipeError(f"{who}: no score is at least {self.least} and below {self.below}; correct the bounds")

    @property
    def column(self) -> Column:
        """The column that has its spans."""
        name = re.sub(r"[^a-z0-9_]", "_", self.spans.lower())
        return Column(f"{_EDITED}{name}", self.spans, "spans", self.optional)

    @property
    def words(self) -> str:
        """The change, in words, for people."""
        verb = "masked" if self.mask else "replaced" if self.replacement else "deleted"
        return f"{self.spans} is {verb}"

    def selects(self, score: float) -> bool:
        """Whether a span with this score is changed.

        >>> bounded = Edit(spans="pii-1__email", mask="*", least=0.5, below=1.0)
        >>> [bounded.selects(score) for score in (0.4, 0.5, 1.0)]
        [False, True, False]
        """
        return (self.least is None or score >= self.least) and (self.below is None or score < self.below)

    def written(self, length: int) -> str:
        """The text that takes the place of a stretch of so many code points."""
        return self.replacement if self.replacement is not None else (self.mask or "") * length

    def parameters(self) -> dict[str, Any]:
        """All that changes the output, as JSON, for the recipe in a ledger. Options with their default are left out."""
        options = {"replacement": self.replacement, "mask": self.mask, "least": self.least, "below": self.below}
        return {"spans": self.spans, **{name: value for name, value in options.items() if value is not None}}

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> "Edit":
        """The edit of a recipe in a ledger. It reverses `parameters`."""
        return cls(**parameters)


def is_of_edit(column: Column) -> bool:
    """Whether a column was declared by an edit, and not for rules."""
    return column.name.startswith(_EDITED)
