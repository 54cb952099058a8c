"""Filters of Dolma's mixer as conditions of rules: a JSONPath becomes one SQL expression over columns of the lake.

What has no such form is refused by name. `gristmill dolma mix` reads those filters too.
"""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from gristmill.dolma.formats.path_conditions import (
    AllHold,
    AnyHolds,
    Condition,
    FilterStep,
    NotHolds,
    PathComparison,
    WrittenValue,
    is_number,
    parts_of_and,
)
from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.formats.path_steps import FieldStep, IndexStep, JsonPath
from gristmill.dolma.recipes.mapped_names import LakeColumns
from gristmill.errors import RecipeError

Place = tuple[str | int, ...]
"""The keys and indices from the document to a value."""
ATTRIBUTES = "attributes"
SPAN_PARTS = ("start", "end", "score")
ALWAYS = ("id", "source", "text")
"""The fields that each document of a lake has. They are texts."""
_KINDS: Mapping[type, str] = {bool: "BOOLEAN", str: "VARCHAR", int: "DOUBLE", float: "DOUBLE"}
_SIGN_WORDS: Mapping[str, str] = {
    "<": "below",
    "<=": "at-most",
    ">": "above",
    ">=": "at-least",
    "==": "is",
    "!=": "is-not",
}


def json_path_to_sql(text: str, columns: LakeColumns) -> str:
    """The condition that is true for the rows that a filter matches.

    Args:
        text: a JSONPath, such as `$.attributes[?(@.words && @.words[0][2] < 50)]`.
        columns: object that receives the columns that it reads.

    Raises:
        RecipeError: Dolma's engine does not read it, or it has no such form.
    """
    path = parse_path(text)
    return _PathCompiler(text, columns).path(path)


def rule_name(text: str) -> str | None:
    """A name in kebab-case for a filter that compares one value with one bound; None for others.

    >>> rule_name("$.attributes[?(@.gopher__words && @.gopher__words[0] && @.gopher__words[0][2] < 0.5)]")
    'words-below-0-5'
    """
    match parse_path(text).steps:
        case (FieldStep(), FilterStep(condition)):
            strict = [part for part in parts_of_and(condition) if not _is_presence_test(part)]
            if len(strict) == 1 and isinstance(strict[0], PathComparison):
                return _key_name(strict[0])
    return None


def _key_name(part: PathComparison) -> str | None:
    if not isinstance(part.left, JsonPath) or not isinstance(part.right, WrittenValue):
        return None
    keys = [step.key for step in part.left.steps if isinstance(step, FieldStep)]
    return name_of_comparison(keys[-1], part.sign, part.right.value) if keys else None


def name_of_comparison(key: str, sign: str, bound: Any) -> str | None:
    """A name in kebab-case for a comparison; None for signs that have no words.

    Args:
        key: key of the value; the part behind its last `__` is taken.
        sign: such as `<`.
        bound: the written value.
    """
    if sign not in _SIGN_WORDS:
        return None
    words = f"{key.rpartition('__')[2]}-{_SIGN_WORDS[sign]}-{bound}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or None


def quote_literal(text: str) -> str:
    """A text as a literal of SQL.

    >>> quote_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def literal_sql(value: Any) -> str:
    """A number, a text, true or false as a literal of SQL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote_literal(value) if isinstance(value, str) else repr(value)


class _PathCompiler:
    """Compiles one filter."""

    def __init__(self, text: str, columns: LakeColumns) -> None:
        self._text, self._columns = text, columns

    def _raise_compile_error(self, reason: str) -> NoReturn:
        raise RecipeError(
            f"{self._text}: {reason}; in a lake, a filter compares spans of attributes, or fields of documents, with"
            " written values. `gristmill dolma mix` takes the others"
        )

    def path(self, path: JsonPath) -> str:
        """The condition that a path leads to a value."""
        filters = [step for step in path.steps if isinstance(step, FilterStep)]
        if not filters:
            return self._presence_condition(self._compile_place(path, ()))
        if len(filters) > 1 or filters[0] is not path.steps[-1]:
            self._raise_compile_error("a filter comes before other steps")
        place = self._compile_place(JsonPath(path.text, path.steps[:-1]), ())
        if len(place) > 1 and place[0] == ATTRIBUTES:
            return self._any_span(place, filters[0].condition)
        return self._compile_condition(filters[0].condition, place)

    def _compile_place(self, path: JsonPath, element: Place) -> Place:
        """Where a path leads: keys and indices only."""
        found: list[str | int] = [] if path.from_root else list(element)
        for step in path.steps:
            if isinstance(step, FieldStep):
                found.append(step.key)
            elif isinstance(step, IndexStep):
                found.append(step.index)
            else:
                self._raise_compile_error(f"{path.text} has a step that is no key and no index")
        return tuple(found)

    def _compile_condition(self, condition: Condition, element: Place) -> str:
        if isinstance(condition, AllHold):
            return " AND ".join(
                self._compile_membership(each, element) for each in self._conjunction_parts(condition, element)
            )
        if isinstance(condition, AnyHolds):
            return " OR ".join(self._compile_membership(each, element) for each in (condition.left, condition.right))
        if isinstance(condition, NotHolds):
            return f"NOT coalesce({self._compile_condition(condition.inner, element)}, false)"
        if isinstance(condition, PathComparison):
            return self._compile_comparison(condition, element)
        return self._raise_compile_error("it has a condition of an unknown form")

    def _compile_membership(self, condition: Condition, element: Place) -> str:
        sql = self._compile_condition(condition, element)
        return f"({sql})" if isinstance(condition, AnyHolds) else sql

    def _conjunction_parts(self, condition: AllHold, element: Place) -> list[Condition]:
        """The parts of a conjunction, without `@.a && @.a[0]` beside `@.a[0][2] < 1`, from which they follow."""
        parts = parts_of_and(condition)
        strict = [place for part in parts if (place := self._required_place(part, element)) is not None]
        return [part for part in parts if not self._follows_from_part(part, strict, element)] or parts

    def _required_place(self, part: Condition, element: Place) -> Place | None:
        """The place that must have a value where the part is true."""
        if isinstance(part, PathComparison) and part.sign in {"<", ">", "<=", ">=", "=="}:
            return self._compile_place(part.left, element) if isinstance(part.left, JsonPath) else None
        return None

    def _follows_from_part(self, part: Condition, strict: list[Place], element: Place) -> bool:
        if not _is_presence_test(part) or not isinstance(part, PathComparison) or not isinstance(part.left, JsonPath):
            return False
        place = self._compile_place(part.left, element)
        return any(each[: len(place)] == place for each in strict)

    def _compile_comparison(self, part: PathComparison, element: Place) -> str:
        if not isinstance(part.left, JsonPath):
            self._raise_compile_error("a written value is on the left")
        place = self._compile_place(part.left, element)
        if not part.sign:
            return self._presence_condition(place)
        if not isinstance(part.right, WrittenValue):
            self._raise_compile_error(f"the right side of {part.sign} is a path")
        return self._with_sign(self._comparable_value(place, part.right.value), part.sign, part.right.value)

    def _presence_condition(self, place: Place) -> str:
        """The condition that a row has a value there."""
        if len(place) == 1 and place[0] in ALWAYS:
            return f"{self._columns.field('id', 'VARCHAR')} IS NOT NULL"
        if len(place) < 2 or place[0] != ATTRIBUTES or not isinstance(place[1], str):
            self._raise_compile_error(
                "it asks whether a document has a field, of which a lake's column must know the type"
            )
        spans, indices = self._columns.spans(place[1]), place[2:]
        if not indices:
            return f"{spans} IS NOT NULL"
        self._check_indices(indices)
        return f"len({spans}) > {indices[0]}"

    def _comparable_value(self, place: Place, bound: Any) -> str:
        """The SQL for a value that is compared with a bound."""
        if place and place[0] == ATTRIBUTES:
            if len(place) != 4 or not isinstance(place[1], str) or not _is_number(bound):
                self._raise_compile_error(
                    "of an attribute, the start [0], end [1] or score [2] of a span is compared with a number"
                )
            self._check_indices(place[2:])
            return f"{self._columns.spans(place[1])}[{int(place[2]) + 1}].{SPAN_PARTS[int(place[3])]}"
        if not place or not all(isinstance(key, str) and "." not in key for key in place):
            self._raise_compile_error("it compares a value that is no field of the document")
        try:
            return self._columns.field(".".join(map(str, place)), type_of_bound(bound))
        except RecipeError as error:
            return self._raise_compile_error(str(error))

    def _check_indices(self, indices: Place) -> None:
        if len(indices) > 2 or not all(isinstance(each, int) for each in indices):
            self._raise_compile_error("an attribute is a list of spans, and each span is [start, end, score]")
        if len(indices) == 2 and int(indices[1]) >= len(SPAN_PARTS):
            self._raise_compile_error(f"a span has three values, and none at [{indices[1]}]")

    def _with_sign(self, value: str, sign: str, bound: Any) -> str:
        if sign in {"<", ">", "<=", ">="}:
            if not is_number(bound):
                self._raise_compile_error(f"{sign} with something that is no number is never true")
            return f"{value} {sign} {bound!r}"
        if sign in {"==", "!="}:
            equal = f"{value} = {literal_sql(bound)}"
        elif sign in {"in", "nin"} and isinstance(bound, list) and bound:
            equal = f"{value} IN ({', '.join(map(literal_sql, bound))})"
        elif sign == "~=":
            return f"regexp_matches({value}, {quote_literal(bound)})"
        else:
            self._raise_compile_error(f"the sign {sign} has no counterpart")
        return equal if sign in {"==", "in"} else f"NOT coalesce({equal}, false)"

    def _any_span(self, place: Place, condition: Condition) -> str:
        """`$.attributes.toxic[?(@[2] > 0.5)]`: one of the spans fulfils one comparison."""
        one = isinstance(condition, PathComparison) and isinstance(condition.left, JsonPath)
        if not one or len(place) != 2 or not isinstance(place[1], str):
            self._raise_compile_error("a filter of the spans of an attribute has one comparison, such as @[2] > 0.5")
        spans = self._columns.spans(place[1])
        inner = _SpanCompiler(self._text, self._columns).holds(condition)
        return f"len(list_filter({spans}, lambda s: {inner})) > 0"


class _SpanCompiler(_PathCompiler):
    """Compiles a condition on one span."""

    def holds(self, condition: Condition) -> str:
        """The condition, of a span `s`."""
        return self._compile_condition(condition, ())

    def _comparable_value(self, place: Place, bound: Any) -> str:
        if len(place) != 1 or not isinstance(place[0], int) or place[0] >= len(SPAN_PARTS) or not _is_number(bound):
            self._raise_compile_error("a span is [start, end, score], and each is a number")
        return f"s.{SPAN_PARTS[place[0]]}"

    def _presence_condition(self, place: Place) -> str:
        return self._raise_compile_error(f"it asks whether a span has {place}")


def _is_presence_test(part: Condition) -> bool:
    return isinstance(part, PathComparison) and not part.sign


def _is_number(bound: Any) -> bool:
    """Whether it is a number, or a list of numbers."""
    return all(map(is_number, bound)) if isinstance(bound, list) else is_number(bound)


def type_of_bound(bound: Any) -> str:
    """The type of a column whose values are compared with a bound.

    Raises:
        RecipeError: no column can be compared with the bound.
    """
    kinds = {_KINDS.get(type(each), "") for each in (bound if isinstance(bound, list) else [bound])}
    if len(kinds) != 1 or "" in kinds:
        raise RecipeError(f"no column has values of the type of {bound!r}")
    return kinds.pop()
