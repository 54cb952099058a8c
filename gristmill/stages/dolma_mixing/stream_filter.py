"""StreamFilter: which rows of a stream are kept, by JSONPath or jq."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill.errors import MalformedRow
from gristmill.formats.dolma.mixer_config import FilterSpec
from gristmill.formats.dolma.path_parser import parse_path
from gristmill.stages.dolma_mixing.column_rules import AttributeColumns, ColumnRule, column_rule
from gristmill.stages.dolma_mixing.jq_program import JqProgram
from gristmill.stages.dolma_mixing.merged_row import MergedRow


@dataclass(frozen=True)
class FilteredRows:
    """Rows that a filter judges.

    Attributes:
        rows: the rows.
        columns: of their attributes.
        path: of their file, for messages.
        first: number of the first of them.
    """

    rows: Sequence[MergedRow]
    columns: AttributeColumns
    path: str
    first: int


_Test = Callable[[MergedRow], bool]
_Rule = ColumnRule | _Test


class StreamFilter:
    """A filter.

    Args:
        spec: of the filter.

    Attributes:
        labels: the attributes that it reads, if it reads nothing else.
        whole: whether it reads whole rows.

    Raises:
        RecipeError: an expression is not read.
    """

    def __init__(self, spec: FilterSpec) -> None:
        self._include = [_rule(text, spec.syntax, exclude=False) for text in spec.include]
        self._exclude = [_rule(text, spec.syntax, exclude=True) for text in spec.exclude]
        rules = [*self._include, *self._exclude]
        self.whole = any(not isinstance(rule, ColumnRule) for rule in rules)
        self.labels = frozenset(label for rule in rules if isinstance(rule, ColumnRule) for label in rule.labels)

    def kept(self, judged: FilteredRows) -> list[int]:
        """The numbers of the rows that are kept.

        Args:
            judged: the rows.

        Raises:
            MalformedRow: an expression fails on a row.
        """
        left = list(range(len(judged.rows)))
        if self._include:
            found: set[int] = set()
            for rule in self._include:
                found.update(_matching(rule, judged, [number for number in left if number not in found]))
            left = [number for number in left if number in found]
        for rule in self._exclude:
            dropped = set(_matching(rule, judged, left))
            left = [number for number in left if number not in dropped] if dropped else left
        return left


def _rule(text: str, syntax: str, *, exclude: bool) -> _Rule:
    if syntax == "jq":
        program = JqProgram(text)
        holds = program.any_true if exclude else program.matches
        return lambda row: holds(row.text)
    path = parse_path(text)
    return column_rule(path) or (lambda row: path.matches(row.part(path.fields)))


def _matching(rule: _Rule, judged: FilteredRows, among: Sequence[int]) -> list[int]:
    if isinstance(rule, ColumnRule):
        flags = rule.matches(judged.columns)
        return [number for number in among if flags[number]] if any(flags) else []
    return [number for number in among if _holds(rule, judged, number)]


def _holds(test: _Test, judged: FilteredRows, number: int) -> bool:
    try:
        return test(judged.rows[number])
    except ValueError as error:
        reason: Any = f"the filter fails on it: {error}"
        raise MalformedRow(judged.path, judged.first + number, reason, "mend the filter or the row") from error
