"""Filters of Dolma's mixer that only look at spans of attributes, for many rows at once.

The published configurations are of this form: `$.attributes[?(@.words && @.words[0] && @.words[0][2] < 50)]`. Only the
attributes that they name are decoded, and each rule is one pass over a column of values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gristmill.dolma.formats.path_conditions import (
    AllHold,
    AnyHolds,
    Condition,
    FilterStep,
    PathComparison,
    WrittenValue,
    is_number,
    parts_of_and,
)
from gristmill.dolma.formats.path_steps import FieldStep, IndexStep, JsonPath

_ATTRIBUTES = "attributes"
ABSENT: Any = msgspec.UNSET
"""In place of a value that a row does not have."""

Flags = Sequence[bool]
Place = tuple[str, tuple[int, ...]]
"""A label, and indices into its value."""


class AttributeColumns:
    """Values of attributes of some rows.

    Args:
        values: values of each label, one value for each row, or ABSENT.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]]) -> None:
        self._values = values
        self._found: dict[Place, Sequence[Any]] = {}

    def label(self, label: str) -> Sequence[Any]:
        """The value of each row."""
        return self._values[label]

    def values_at(self, place: Place) -> Sequence[Any]:
        """The value at a place in each row."""
        if place not in self._found:
            label, indices = place
            found: Sequence[Any] = self._values[label]
            for index in indices:
                found = [value[index] if value.__class__ is list and len(value) > index else ABSENT for value in found]
            self._found[place] = found
        return self._found[place]


Judge = Callable[[AttributeColumns], Flags]


@dataclass(frozen=True)
class ColumnRule:
    """A filter over attributes.

    Attributes:
        labels: the attributes that it reads.
        matches: function that returns for each row whether it matches.
    """

    labels: frozenset[str]
    matches: Judge


def label_of_path(path: JsonPath) -> str | None:
    """The label of a path such as `$.attributes.toxic`; None if it is another path."""
    match path.steps:
        case (FieldStep(key), FieldStep(label)) if key == _ATTRIBUTES:
            return label
    return None


def column_rule(path: JsonPath) -> ColumnRule | None:
    """The same filter over columns; None if it needs more than attributes, or has `!`.

    With `!` a row without any attributes and a row with others would differ.

    Args:
        path: path of a filter.
    """
    match path.steps:
        case (FieldStep(key), FilterStep(condition)) if key == _ATTRIBUTES:
            places: list[Place] = []
            judge = _compile_condition(condition, places)
            return ColumnRule(frozenset(label for label, _ in places), judge) if judge else None
    return None


def _compile_condition(condition: Condition, places: list[Place]) -> Judge | None:
    match condition:
        case AllHold():
            return _all_hold([_compile_condition(each, places) for each in _conjunction_parts(condition)])
        case AnyHolds(left, right):
            return _either_holds(_compile_condition(left, places), _compile_condition(right, places))
        case PathComparison(JsonPath() as left, sign, right):
            place = _place_of_path(left)
            if place is None or not isinstance(right, WrittenValue):
                return None
            places.append(place)
            return _compile_comparison(place, sign, right.value)
    return None


def _conjunction_parts(condition: AllHold) -> list[Condition]:
    """The parts of a conjunction, without `@.a && @.a[0]` beside `@.a[0][2] < 1`: they follow from it."""
    parts = parts_of_and(condition)
    strict = [
        place
        for part in parts
        if isinstance(part, PathComparison) and part.sign in {"<", ">", "<=", ">="} and isinstance(part.left, JsonPath)
        if (place := _place_of_path(part.left))
    ]
    return [part for part in parts if not _follows_from_part(part, strict)]


def _follows_from_part(part: Condition, strict: Sequence[Place]) -> bool:
    if not isinstance(part, PathComparison) or part.sign or not isinstance(part.left, JsonPath):
        return False
    place = _place_of_path(part.left)
    return place is not None and any(
        label == place[0] and indices[: len(place[1])] == place[1] for label, indices in strict
    )


def _place_of_path(path: JsonPath) -> Place | None:
    if path.from_root or not path.steps or not isinstance(path.steps[0], FieldStep):
        return None
    indices = [step.index for step in path.steps[1:] if isinstance(step, IndexStep)]
    return (path.steps[0].key, tuple(indices)) if len(indices) == len(path.steps) - 1 else None


def _compile_comparison(place: Place, sign: str, bound: Any) -> Judge | None:
    if not sign:
        return lambda columns: [value is not ABSENT for value in columns.values_at(place)]
    if not is_number(bound):
        return None
    kind, limit = type(bound), float(bound)

    def less(columns: AttributeColumns) -> Flags:
        return [is_number(v) and v < limit for v in columns.values_at(place)]

    def more(columns: AttributeColumns) -> Flags:
        return [is_number(v) and v > limit for v in columns.values_at(place)]

    def at_most(columns: AttributeColumns) -> Flags:
        return [is_number(v) and (v < limit or (v.__class__ is kind and v == bound)) for v in columns.values_at(place)]

    def at_least(columns: AttributeColumns) -> Flags:
        return [is_number(v) and (v > limit or (v.__class__ is kind and v == bound)) for v in columns.values_at(place)]

    return {"<": less, ">": more, "<=": at_most, ">=": at_least}.get(sign)


def _all_hold(judges: Sequence[Judge | None]) -> Judge | None:
    known = [judge for judge in judges if judge is not None]
    if len(known) < len(judges):
        return None
    if len(known) == 1:
        return known[0]
    return lambda columns: [all(flags) for flags in zip(*(judge(columns) for judge in known), strict=True)]


def _either_holds(left: Judge | None, right: Judge | None) -> Judge | None:
    if left is None or right is None:
        return None
    return lambda columns: [a or b for a, b in zip(left(columns), right(columns), strict=True)]
