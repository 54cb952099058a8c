"""StreamFilter: which rows of a stream are kept, by JSONPath or jq."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gristmill.dolma.formats.mixer_config import FilterSpec
from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.mixing.column_rules import AttributeColumns, ColumnRule, column_rule
from gristmill.dolma.mixing.jq_program import JqProgram
from gristmill.dolma.mixing.merged_row import MergedRow, Values
from gristmill.errors import MalformedRow, shorten

_QUOTED = 300
"""Characters of an expression's own error that a message has."""


@dataclass(frozen=True)
class FilteredRows:
    """Rows that a filter judges.

    Attributes:
        rows: the fields of each row.
        columns: columns of their attributes.
        path: path of their file, for messages.
        first: number of the first of them.
    """

    rows: Sequence[Values]
    columns: AttributeColumns
    path: str
    first: int
    _merged: dict[int, MergedRow] = field(default_factory=dict)

    def row(self, number: int) -> MergedRow:
        """A row for expressions that are asked row by row. What they decode is decoded once."""
        if number not in self._merged:
            self._merged[number] = MergedRow(self.rows[number])
        return self._merged[number]


@dataclass(frozen=True)
class _RowRule:
    """A filter that is asked row by row.

    Attributes:
        matches: whether it matches each row.
        fields: of the rows that it reads; None for all.
        otherwise: whether it matches a row without any of these fields.
        named: labels that it names.
    """

    matches: Callable[[Iterator[MergedRow]], Iterator[bool]]
    fields: frozenset[str] | None = None
    otherwise: bool = False
    named: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        return self.fields is None or "attributes" in self.fields


_Rule = ColumnRule | _RowRule


class StreamFilter:
    """A filter.

    Args:
        spec: specification of the filter.

    Attributes:
        labels: the attributes that it reads, if it reads nothing else.
        named: the attributes that it names, also those that it reads in other ways.
        whole: whether it reads whole rows, or whole attributes.

    Raises:
        RecipeError: an expression is not read.
    """

    def __init__(self, spec: FilterSpec) -> None:
        self._include = [_compile_rule(text, spec.syntax, exclude=False) for text in spec.include]
        self._exclude = [_compile_rule(text, spec.syntax, exclude=True) for text in spec.exclude]
        rules = [*self._include, *self._exclude]
        self.whole = any(isinstance(rule, _RowRule) and rule.whole for rule in rules)
        self.labels = frozenset(label for rule in rules if isinstance(rule, ColumnRule) for label in rule.labels)
        self.named = self.labels.union(*(rule.named for rule in rules if isinstance(rule, _RowRule)))

    def kept_rows(self, judged: FilteredRows) -> list[int]:
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
                found.update(
                    _rows_matching_expression(rule, judged, [number for number in left if number not in found])
                )
            left = [number for number in left if number in found]
        for rule in self._exclude:
            dropped = set(_rows_matching_expression(rule, judged, left))
            left = [number for number in left if number not in dropped] if dropped else left
        return left


def _compile_rule(text: str, syntax: str, *, exclude: bool) -> _Rule:
    if syntax == "jq":
        program = JqProgram(text)
        holds = program.any_true if exclude else program.matches
        return _RowRule(lambda rows: holds(row.sorted_text(program.fields) for row in rows), named=program.labels)
    path = parse_path(text)
    by_columns = column_rule(path)
    if by_columns or path.fields is None:
        return by_columns or _RowRule(lambda rows: (path.matches(row.document) for row in rows))
    return _RowRule(lambda rows: (path.matches(row.part(path.fields)) for row in rows), path.fields, path.matches({}))


def _rows_matching_expression(rule: _Rule, judged: FilteredRows, among: Sequence[int]) -> list[int]:
    if isinstance(rule, ColumnRule):
        flags = rule.matches(judged.columns)
        return [number for number in among if flags[number]] if any(flags) else []
    if rule.fields is None:
        return _rows_matching_columns(rule, judged, among)
    unread = rule.fields.isdisjoint
    read = [number for number in among if not unread(judged.rows[number])]
    found = _rows_matching_columns(rule, judged, read)
    if not rule.otherwise or len(read) == len(among):
        return found
    return sorted({*among}.difference(read).union(found))


def _rows_matching_columns(rule: _RowRule, judged: FilteredRows, among: Sequence[int]) -> list[int]:
    holds = rule.matches(judged.row(number) for number in among)
    found: list[int] = []
    for number in among:
        try:
            if next(holds):
                found.append(number)
        except ValueError as error:
            reason: Any = f"the filter fails on it: {shorten(str(error), _QUOTED)}"  # jq's `error` quotes the row
            raise MalformedRow(judged.path, judged.first + number, reason, "mend the filter or the row") from error
    return found
