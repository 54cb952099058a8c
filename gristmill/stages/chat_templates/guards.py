"""What a template may call, and how much text a call could make: asked before the call, because one call can take all
memory.

A template may call macros, Jinja's functions and the listed methods. All others are refused, because nothing is known
of their cost.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gristmill.stages.chat_templates.budget import DEEPEST, UNBOUNDED, Budget, Unrendered, value_length
from gristmill.stages.chat_templates.formats import WIDEST, brace_format_size, percent_format_size

REMOVED_FILTERS = ("pprint", "random", "striptags", "urlize", "wordwrap", "xmlattr")
"""Filters of Jinja that templates do not get: at random, slow, or for web pages alone."""
# fmt: off
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        (
            "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format", "format_map",
            "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
            "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition",
            "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip",
            "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill",
        )
    ),
    dict: frozenset(("copy", "get", "items", "keys", "values")),
    list: frozenset(("copy", "count", "index")),
    tuple: frozenset(("count", "index")),
}
# fmt: on
"""The methods of values that a template may call, by the type of the value."""


def check_method(name: str, owner: object) -> None:
    """Checks that a template may call a method.

    Raises:
        Unrendered: it may not.
    """
    names = next((names for kind, names in METHODS.items() if isinstance(owner, kind)), frozenset())
    if name not in names:
        raise Unrendered("not rendered", f"templates may not call {type(owner).__name__}.{name}")


def count_growth(
    budget: Budget,
    table: Mapping[str, "Growth"],
    name: str,
    value: Any,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> None:
    """Counts the characters or elements that a method or filter could make.

    Args:
        budget: counts them.
        table: METHOD_GROWTH or FILTER_GROWTH.
        name: name of the method or filter.
        value: the string or list that it works on.
        args: its other arguments.
        named: its named arguments.

    Raises:
        Unrendered: it could make too many.
    """
    for each in (*args, *named.values()):
        budget.count_value(each)
    growth = table.get(name)
    if growth is None:
        budget.characters(value_length(value))
    else:
        budget.characters(growth(budget, value, (*args, *named.values())))


def size_or_zero(value: object) -> int:
    """The value, if it is a number that has a size; else 0."""
    return abs(int(value)) if isinstance(value, int) else 0


def _padded_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return value_length(value) + max(map(size_or_zero, args), default=0)


def _indented_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    width = max((size_or_zero(each) or value_length(each) for each in args), default=8)
    lines = sum(value.count(each) for each in "\n\t\r") if isinstance(value, str) else 0
    return value_length(value) + (lines + 1) * max(width, 8)


def _replaced_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(value, str) or len(args) < 2:
        return sum(map(value_length, (value, *args))) ** 2
    old, new = args[:2]
    count = value.count(old) if isinstance(old, str) else len(value)
    return len(value) + count * (value_length(new) or 64)


def count_squares(budget: Budget, value: object) -> None:
    """Counts what hashing the elements of a value could take. Those with equal hashes are compared pair by pair.

    Raises:
        Unrendered: the rendering has done too much.
    """
    count = len(value) if isinstance(value, range) else value_length(value)
    budget.count_steps((count * count) >> 10)


def _joined_size(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    budget.count_value(value)
    return _concatenated_size(value, args)


def _concatenated_size(value: Any, args: tuple[Any, ...]) -> int:
    glue = value_length(args[0]) if args else 0
    texts = sum(map(value_length, value)) if isinstance(value, list | tuple) else 0
    return value_length(value) * (glue + 1) + texts


def _join_method_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return _concatenated_size(args[0] if args else (), (value,))


def _truncated_size(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    budget.count_value(value)
    return _search_cost(budget, value, args)


def _wrapped_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return 16 * _padded_size(_, value, args)


def _printed_size(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    before = budget.left
    budget.count_value(value)
    indent = sum(size_or_zero(part) or value_length(part) for each in args for part in _iterable_as_tuple(each))
    return value_length(value) + (before - budget.left) * indent * DEEPEST


def _iterable_as_tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _sum_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    before = budget.left
    budget.count_value(value)
    starts_with_list = any(isinstance(each, list | tuple) for each in args)
    return value_length(value) * (before - budget.left) if starts_with_list else 0


def _search_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    """Each character may be compared with each of what is sought."""
    budget.count_steps((value_length(value) * max(map(value_length, args), default=0)) >> 20)
    return value_length(value)


def _split_from_end(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    _search_cost(budget, value, args)
    return _split_cost(budget, value, args)


def _hashing_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    count_squares(budget, value)
    return _comparison_cost(budget, value, args)


def _split_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    separator = next((each for each in args if isinstance(each, str) and each), None)
    budget.count_steps(value_length(value) // 2 if separator is None else value.count(separator))
    return value_length(value)


def _loop_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:  # noqa: ARG001 - one form for all
    budget.count_steps(value_length(value))
    return value_length(value)


def _rounding_cost(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(value, int | float):
        raise Unrendered("not rendered", "only numbers can be rounded")
    if max(map(size_or_zero, args), default=0) > WIDEST:
        raise Unrendered(UNBOUNDED, f"a number is rounded to more than {WIDEST} digits")
    return 0


def _comparison_cost(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:  # noqa: ARG001 - one form for all
    budget.count_value(value)
    return value_length(value)


Growth = Callable[[Budget, Any, tuple[Any, ...]], int]
METHOD_GROWTH: dict[str, Growth] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _padded_size),
    **dict.fromkeys(("count", "index"), _comparison_cost),
    **dict.fromkeys(("format", "format_map"), brace_format_size),
    **dict.fromkeys(("split", "splitlines"), _split_cost),
    **dict.fromkeys(("lstrip", "rfind", "rindex", "rpartition", "rstrip", "strip"), _search_cost),
    "expandtabs": _indented_size,
    "rsplit": _split_from_end,
    "replace": _replaced_size,
    "join": _join_method_size,
}
"""How much a method could make; other methods make no more than they read."""
_STRINGS = (
    "capitalize",
    "e",
    "escape",
    "forceescape",
    "lower",
    "safe",
    "string",
    "title",
    "upper",
    "urlencode",
)
FILTER_GROWTH: dict[str, Growth] = {
    **dict.fromkeys(("tojson", *_STRINGS), _printed_size),
    **dict.fromkeys(("dictsort", "groupby", "max", "min", "sort"), _comparison_cost),
    **dict.fromkeys(("batch", "slice"), _wrapped_size),
    **dict.fromkeys(
        ("float", "int", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "wordcount"),
        _loop_cost,
    ),
    **dict.fromkeys(("center", "truncate"), _padded_size),
    "format": percent_format_size,
    "indent": _indented_size,
    "join": _joined_size,
    "replace": _replaced_size,
    "round": _rounding_cost,
    "sum": _sum_cost,
    "trim": _truncated_size,
    "unique": _hashing_cost,
}
"""How much a filter could make; other filters make no more than they read."""
