"""What a template may call, and how much text a call could make: asked before the call, because one call can take all
memory.

A template may call macros, Jinja's functions and the listed methods. All others are refused, because nothing is known
of their cost.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gristmill.stages.chat_templates.budget import DEEPEST, UNBOUNDED, Budget, Unrendered, size_of
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
        budget.characters(size_of(value))
    else:
        budget.characters(growth(budget, value, (*args, *named.values())))


def whole_number(value: object) -> int:
    """The value, if it is a number that has a size; else 0."""
    return abs(int(value)) if isinstance(value, int) else 0


def _padded(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return size_of(value) + max(map(whole_number, args), default=0)


def _indented(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    width = max((whole_number(each) or size_of(each) for each in args), default=8)
    lines = sum(value.count(each) for each in "\n\t\r") if isinstance(value, str) else 0
    return size_of(value) + (lines + 1) * max(width, 8)


def _replaced(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(value, str) or len(args) < 2:
        return sum(map(size_of, (value, *args))) ** 2
    old, new = args[:2]
    count = value.count(old) if isinstance(old, str) else len(value)
    return len(value) + count * (size_of(new) or 64)


def count_squares(budget: Budget, value: object) -> None:
    """Counts what hashing the elements of a value could take. Those with equal hashes are compared pair by pair.

    Raises:
        Unrendered: the rendering has done too much.
    """
    count = len(value) if isinstance(value, range) else size_of(value)
    budget.spend((count * count) >> 10)


def _joined(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    budget.count_value(value)
    return _glued(value, args)


def _glued(value: Any, args: tuple[Any, ...]) -> int:
    glue = size_of(args[0]) if args else 0
    texts = sum(map(size_of, value)) if isinstance(value, list | tuple) else 0
    return size_of(value) * (glue + 1) + texts


def _joins(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return _glued(args[0] if args else (), (value,))


def _trimmed(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    budget.count_value(value)
    return _sought(budget, value, args)


def _filled(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    return 16 * _padded(_, value, args)


def _printed(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    before = budget.left
    budget.count_value(value)
    indent = sum(whole_number(part) or size_of(part) for each in args for part in _pieces(each))
    return size_of(value) + (before - budget.left) * indent * DEEPEST


def _pieces(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _summed(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    before = budget.left
    budget.count_value(value)
    starts_with_list = any(isinstance(each, list | tuple) for each in args)
    return size_of(value) * (before - budget.left) if starts_with_list else 0


def _sought(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    """Each character may be compared with each of what is sought."""
    budget.spend((size_of(value) * max(map(size_of, args), default=0)) >> 20)
    return size_of(value)


def _split_from_end(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    _sought(budget, value, args)
    return _split(budget, value, args)


def _hashed(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    count_squares(budget, value)
    return _compared(budget, value, args)


def _split(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:
    separator = next((each for each in args if isinstance(each, str) and each), None)
    budget.spend(size_of(value) // 2 if separator is None else value.count(separator))
    return size_of(value)


def _passed(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:  # noqa: ARG001 - one form for all
    budget.spend(size_of(value))
    return size_of(value)


def _rounded(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(value, int | float):
        raise Unrendered("not rendered", "only numbers can be rounded")
    if max(map(whole_number, args), default=0) > WIDEST:
        raise Unrendered(UNBOUNDED, f"a number is rounded to more than {WIDEST} digits")
    return 0


def _compared(budget: Budget, value: Any, args: tuple[Any, ...]) -> int:  # noqa: ARG001 - one form for all
    budget.count_value(value)
    return size_of(value)


Growth = Callable[[Budget, Any, tuple[Any, ...]], int]
METHOD_GROWTH: dict[str, Growth] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _padded),
    **dict.fromkeys(("count", "index"), _compared),
    **dict.fromkeys(("format", "format_map"), brace_format_size),
    **dict.fromkeys(("split", "splitlines"), _split),
    **dict.fromkeys(("lstrip", "rfind", "rindex", "rpartition", "rstrip", "strip"), _sought),
    "expandtabs": _indented,
    "rsplit": _split_from_end,
    "replace": _replaced,
    "join": _joins,
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
    **dict.fromkeys(("tojson", *_STRINGS), _printed),
    **dict.fromkeys(("dictsort", "groupby", "max", "min", "sort"), _compared),
    **dict.fromkeys(("batch", "slice"), _filled),
    **dict.fromkeys(
        ("float", "int", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "wordcount"), _passed
    ),
    **dict.fromkeys(("center", "truncate"), _padded),
    "format": percent_format_size,
    "indent": _indented,
    "join": _joined,
    "replace": _replaced,
    "round": _rounded,
    "sum": _summed,
    "trim": _trimmed,
    "unique": _hashed,
}
"""How much a filter could make; other filters make no more than they read."""
