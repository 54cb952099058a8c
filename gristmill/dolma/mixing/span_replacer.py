"""SpanReplacer: which spans of a row are replaced, and by what."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gristmill.dolma.formats.mixer_config import ReplacementSpec, Syntax
from gristmill.dolma.formats.path_conditions import is_number
from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.formats.path_steps import JsonPath
from gristmill.dolma.mixing.column_rules import ABSENT, label_of_path
from gristmill.dolma.mixing.jq_program import JqProgram
from gristmill.dolma.mixing.merged_row import MergedRow
from gristmill.dolma.mixing.span_replacement import Replacement
from gristmill.dolma.mixing.stream_filter import FilteredRows

_TRIPLE = 3


class RowSelector:
    """What an expression selects of a row: nothing, one value, or a list of several.

    Args:
        text: the expression.
        syntax: its language.

    Raises:
        RecipeError: it is not read.
    """

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._by: JqProgram | JsonPath = JqProgram(text) if syntax == "jq" else parse_path(text)
        self.text = text
        self.label = label_of_path(self._by) if isinstance(self._by, JsonPath) else None
        of_jq = self._by.labels if isinstance(self._by, JqProgram) else frozenset[str]()
        self.named = of_jq if self.label is None else frozenset({self.label})

    def select(self, rows: Iterator[MergedRow]) -> Iterator[Any]:
        """The value of each row; None for nothing.

        Raises:
            ValueError: jq fails on the next row.
        """
        by = self._by
        if isinstance(by, JqProgram):
            selected = by.values(row.sorted_text(by.fields) for row in rows)
        else:
            parts = (row.part(by.fields) for row in rows)
            selected = (list(by.find(part, part)) for part in parts)
        return ((found[0] if len(found) == 1 else found) if found else None for found in selected)


class SpanReplacer:
    """One entry of `span_replacement`.

    Args:
        spec: the entry.

    Attributes:
        label: the attribute that has the spans; None if whole rows are read.
        named: the attributes that the selector of spans names.
        whole: whether it reads whole rows.

    Raises:
        RecipeError: an expression is not read.
    """

    def __init__(self, spec: ReplacementSpec) -> None:
        self._spans = RowSelector(spec.span, spec.syntax)
        self._text = spec.replacement
        self._selected: RowSelector | None = None
        if spec.replacement.startswith("$"):
            text = spec.replacement.removeprefix("$") if spec.syntax == "jq" else spec.replacement
            self._selected = RowSelector(text, spec.syntax)
        self._least = -math.inf if spec.min_score is None else spec.min_score
        self._below = math.inf if spec.max_score is None else spec.max_score
        self.label = self._spans.label
        self.named = self._spans.named
        self.whole = self.label is None or self._selected is not None

    def replacements(self, judged: FilteredRows, among: Sequence[int]) -> Iterator[list[Replacement]]:
        """The spans of each row that are replaced.

        Args:
            judged: rows.
            among: numbers of the rows that are wanted.

        Returns:
            An iterator. It raises ValueError if what is selected of the next row is no list of spans, or no string to
            put in their place.
        """
        if self.label is None:
            values = self._spans.select(judged.row(number) for number in among)
        else:
            column = judged.columns.label(self.label)
            values = (column[number] for number in among)
        return (self._chosen_spans(value, judged, number) for value, number in zip(values, among, strict=True))

    def _chosen_spans(self, value: Any, judged: FilteredRows, number: int) -> list[Replacement]:
        if value is None or value is ABSENT or value == []:
            return []
        if not isinstance(value, list):
            raise ValueError(f"{self._spans.text!r} selects no list of spans")  # noqa: TRY004 - of the data
        chosen = [span for span in value if self._least <= self._span_score(span) < self._below]
        if not chosen:
            return []
        text = self._text if self._selected is None else next(self._selected.select(iter([judged.row(number)])))
        if not isinstance(text, str):
            raise ValueError(f"the replacement {self._text!r} selects no string")  # noqa: TRY004 - of the data
        return [Replacement(span[0], span[1], text) for span in chosen]

    def _span_score(self, span: Any) -> float:
        if not isinstance(span, list) or len(span) < _TRIPLE or not is_number(span[2]):
            raise ValueError(f"{self._spans.text!r} selects {span!r:.60}, which is no [start, end, score]")
        if any(type(bound) is not int or bound < 0 for bound in span[:2]):
            raise ValueError(f"{self._spans.text!r}: the bounds of {span!r:.60} are no code points")
        return float(span[2])
