"""Conditions in a filter of a JSONPath, such as `[?(@.words[0][2] < 50)]`, evaluated as Dolma's engine does.

Source: jsonpath-rust 0.3.5, `path/json.rs` and `path/index.rs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import re2

from gristmill.dolma.formats.path_steps import Json, JsonPath

Values = Sequence[Json]
QUIET = re2.Options()
QUIET.log_errors = False


class Condition(Protocol):
    """What a filter asks of an element."""

    @property
    def paths(self) -> Sequence[JsonPath]:
        """The paths in it."""

    def holds(self, element: Json, root: Json) -> bool:
        """Whether it is true.

        Args:
            element: element of the list that is filtered, or the object itself.
            root: the document.
        """


@dataclass(frozen=True)
class FilterStep:
    """`[?(...)]`: the elements of a list for which it holds; any other value as a whole, if it holds for that."""

    condition: Condition

    @property
    def paths(self) -> Sequence[JsonPath]:
        return self.condition.paths

    def find(self, value: Json, root: Json) -> Values:
        elements = value if isinstance(value, list) else [value]
        return [each for each in elements if self.condition.holds(each, root)]


def _any_holds(condition: Condition, element: Json, root: Json) -> bool:
    """A part of a compound condition asks the elements of a list, not the list: so does Dolma's engine."""
    return any(condition.holds(each, root) for each in (element if isinstance(element, list) else [element]))


@dataclass(frozen=True)
class _Compound:
    """Two conditions in one."""

    left: Condition
    right: Condition

    @property
    def paths(self) -> Sequence[JsonPath]:
        return (*self.left.paths, *self.right.paths)


class AllHold(_Compound):
    """`a && b`."""

    def holds(self, element: Json, root: Json) -> bool:
        return _any_holds(self.left, element, root) and _any_holds(self.right, element, root)


class AnyHolds(_Compound):
    """`a || b`."""

    def holds(self, element: Json, root: Json) -> bool:
        return _any_holds(self.left, element, root) or _any_holds(self.right, element, root)


@dataclass(frozen=True)
class NotHolds:
    """`!a`."""

    inner: Condition

    @property
    def paths(self) -> Sequence[JsonPath]:
        return self.inner.paths

    def holds(self, element: Json, root: Json) -> bool:
        return not _any_holds(self.inner, element, root)


@dataclass(frozen=True)
class WrittenValue:
    """A number, string, list, true, false or null that is written in the path."""

    value: Json

    def find(self, value: Json, root: Json) -> Values:  # noqa: ARG002 - as a path
        return (self.value,)


@dataclass(frozen=True)
class PathComparison:
    """`left sign right`, or `left` alone: `sign` is empty then, and it holds if `left` leads to a value.

    Attributes:
        left: a path, or a value.
        sign: one of SIGNS.
        right: a path, or a value.
    """

    left: JsonPath | WrittenValue
    sign: str = ""
    right: JsonPath | WrittenValue = WrittenValue(None)

    @property
    def paths(self) -> Sequence[JsonPath]:
        return [each for each in (self.left, self.right) if isinstance(each, JsonPath)]

    def holds(self, element: Json, root: Json) -> bool:
        left = self.left.find(element, root)
        return SIGNS[self.sign](left, self.right.find(element, root)) if self.sign else bool(left)


def is_same_value(a: Json, b: Json) -> bool:
    """Whether two values are equal. The integer 1 and the float 1.0 are not.

    Args:
        a: JSON.
        b: JSON.

    >>> is_same_value([1, "a"], [1, "a"]), is_same_value(1, 1.0), is_same_value(1, True)
    (True, False, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(is_same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same_value(value, b[key]) for key, value in a.items())
    return bool(a == b)


def is_number(value: Json) -> bool:
    """Whether it is a number; true and false do not count as numbers."""
    return type(value) is int or type(value) is float


def _is_equal(left: Values, right: Values) -> bool:
    return len(left) == len(right) and all(map(is_same_value, left, right))


def _is_less(left: Values, right: Values) -> bool:
    if len(left) != 1 or len(right) != 1 or not (is_number(left[0]) and is_number(right[0])):
        return False
    return float(left[0]) < float(right[0])


def _is_in_list(left: Values, right: Values) -> bool:
    among = right[0] if right else None
    elements = list(among.values()) if isinstance(among, dict) else among
    return isinstance(elements, list) and any(is_same_value(each, one) for each in left for one in elements)


def _has_common_element(left: Values, right: Values) -> bool:
    if not left:
        return True
    among = right[0] if right else None
    if not isinstance(among, list):
        return False
    return any(
        is_same_value(one, other) for e in left for one in (e if isinstance(e, list) else [e]) for other in among
    )


def _is_subset(left: Values, right: Values) -> bool:
    if not left:
        return True
    among = right[0] if right else None
    if not (isinstance(left[0], list) and isinstance(among, list) and among):
        return False
    return all(any(is_same_value(one, other) for other in among) for one in left[0])


def _has_equal_size(left: Values, right: Values) -> bool:
    if not right or not is_number(right[0]):
        return False
    size = max(0, int(right[0]))
    return all(isinstance(e, str | list | dict) and len(e.encode() if isinstance(e, str) else e) == size for e in left)


def _matches_pattern(left: Values, right: Values) -> bool:
    pattern = re2.compile(right[0], QUIET)
    return any(isinstance(each, str) and pattern.search(each) is not None for each in left)


Sign = Callable[[Values, Values], bool]
SIGNS: Mapping[str, Sign] = {
    "==": _is_equal,
    "!=": lambda left, right: not _is_equal(left, right),
    "~=": _matches_pattern,
    ">=": lambda left, right: _is_less(right, left) or _is_equal(left, right),
    ">": lambda left, right: _is_less(right, left),
    "<=": lambda left, right: _is_less(left, right) or _is_equal(left, right),
    "<": _is_less,
    "in": _is_in_list,
    "nin": lambda left, right: not _is_in_list(left, right),
    "size": _has_equal_size,
    "noneOf": lambda left, right: not _has_common_element(left, right),
    "anyOf": _has_common_element,
    "subsetOf": _is_subset,
}
"""What each sign asks. Numbers are compared by size as floats; `==` tells integers from floats."""


def parse_number_literal(text: str) -> Any:
    """The number of a literal: an integer of 64 bits, else a float.

    >>> parse_number_literal("1"), parse_number_literal("1.0"), parse_number_literal("9223372036854775808")
    (1, 1.0, 9.223372036854776e+18)
    """
    try:
        whole = int(text)
    except ValueError:
        return float(text)
    return whole if -(2**63) <= whole < 2**63 else float(whole)


def parts_of_and(condition: Condition) -> list[Condition]:
    """The conditions that a condition joins by "and"; itself if it joins none.

    Args:
        condition: the condition, in the form of a tree.
    """
    if isinstance(condition, AllHold):
        return [*parts_of_and(condition.left), *parts_of_and(condition.right)]
    return [condition]
