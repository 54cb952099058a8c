"""Checks the types and ranges of a recipe's options: Python checks no annotation, and `"no"` counts as true.

Each option's annotation says what it takes. A range is written as `Annotated[float, msgspec.Meta(ge=0, le=1)]`.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import orjson

from gristmill.errors import RecipeError
from gristmill.lake.rows.json_values import has_surrogate
from gristmill.lake.rows.json_values import short_repr as representation

Json = Annotated[Mapping[str, Any], "JSON"]
"""The annotation of parameters, which a ledger keeps as JSON."""

_NAMES = {bool: "True or False", int: "a whole number", float: "a number", str: "a string", NoneType: "None"}
_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("ge", lambda value, bound: value >= bound, "at least"),
    ("gt", lambda value, bound: value > bound, "above"),
    ("le", lambda value, bound: value <= bound, "at most"),
    ("lt", lambda value, bound: value < bound, "below"),
)


def check_types(declared: Any, what: str, *, shown: bool = True) -> None:
    """Checks each option of a recipe against its annotation.

    Options that a subclass outside Gristmill adds are its own matter.

    Args:
        declared: the recipe, a dataclass.
        what: its name, for messages.
        shown: whether a message may quote a wrong value; not if it may hold a secret.

    Raises:
        RecipeError: an option has a value of another type, or out of its range.
    """
    hints = _option_annotations(declared.__class__)
    for option in fields(declared):
        if option.name in hints:
            check_option(getattr(declared, option.name), hints[option.name], f"{what}: {option.name}", shown=shown)


def check_option(value: Any, hint: Any, what: str, *, shown: bool = True) -> None:
    """Checks one value against an annotation.

    Args:
        value: the value.
        hint: the annotation.
        what: the recipe and the option, for messages.
        shown: whether a message may quote the value, as for check_types().

    Raises:
        RecipeError: the value is of another type, or out of its range.

    >>> check_option("wiki", tuple[str, ...], "export 'e': mixes")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: export 'e': mixes is 'wiki'; give a tuple of strings, such as ('wiki',)
    """
    mend = _expected_value_hint(value, hint)
    if mend:
        found = representation(value) if shown else f"of type {type(value).__name__} (not shown)"
        raise RecipeError(f"{what} is {found}; give {mend}")


def check_pattern(pattern: str, what: str) -> re.Pattern[str]:
    """The compiled form of a regular expression.

    Args:
        pattern: the expression.
        what: the recipe and the option, for messages.

    Raises:
        RecipeError: it is wrong.
    """
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise RecipeError(f"{what} is {pattern!r}; give a valid regular expression ({error})") from error


@cache
def _option_annotations(kind: type) -> dict[str, Any]:
    """The annotation of each option. Python reads them anew at each call, which takes longer than all checks."""
    ours = (each for each in kind.__mro__ if each.__module__.partition(".")[0] == "gristmill")
    hints = get_type_hints(next(ours, kind), include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _expected_value_hint(value: Any, hint: Any) -> str:
    """What to give instead of a value; empty if the annotation takes it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return ""
    if hint is Json:
        return _json_value_hint(value)
    if origin is Annotated:
        return _expected_value_hint(value, inner[0]) or _number_range_hint(value, inner[1:])
    if origin is Literal:
        return "" if isinstance(value, str) and value in inner else ", ".join(each or "''" for each in inner)
    if origin in {Union, UnionType}:
        return _union_type_hint(value, inner)
    if origin is not None:
        return _container_type_hint(value, origin, inner)
    if hint in {bool, int, float, str}:
        return _scalar_type_hint(value, hint)
    return "" if not isinstance(hint, type) or isinstance(value, hint) else _type_in_words(hint)


def _scalar_type_hint(value: Any, hint: type) -> str:
    if hint is str and isinstance(value, str):
        return "a string without lone surrogates" if not value.isascii() and has_surrogate(value) else ""
    if hint in {bool, str}:
        return "" if isinstance(value, hint) else _type_in_words(hint)
    if isinstance(value, bool) or not isinstance(value, int if hint is int else (int, float)):
        return _type_in_words(hint)
    if isinstance(value, float) and type(value) is not float:  # such as numpy.float64: a ledger cannot record it
        return f"Python's own number, such as float({float(value)!r})"
    if isinstance(value, int):
        return "" if -(1 << 63) <= value < 1 << 64 else "a number of 64 bits"
    return "" if math.isfinite(value) else "a finite number"


def _number_range_hint(value: Any, notes: Iterable[Any]) -> str:
    """The range, if a number is outside."""
    for note in notes:
        if isinstance(note, msgspec.Meta):
            bounds = [(getattr(note, name), holds, words) for name, holds, words in _BOUNDS]
            given = [(bound, holds, words) for bound, holds, words in bounds if bound is not None]
            if not all(holds(value, bound) for bound, holds, _ in given):
                return " and ".join(f"{words} {bound}" for bound, _, words in given)
    return ""


def _union_type_hint(value: Any, kinds: Iterable[Any]) -> str:
    mends = []
    for kind in kinds:
        mend = _expected_value_hint(value, kind)
        if not mend:
            return ""
        mends.append(mend)
    return ", or ".join(dict.fromkeys(mends))


def _container_type_hint(value: Any, origin: Any, inner: tuple[Any, ...]) -> str:
    if origin is Callable:
        return "" if callable(value) else "a function"
    if origin is Mapping:
        pairs = value.items() if isinstance(value, Mapping) else ()
        wrong = (
            each
            for key, one in pairs
            for each in (_expected_value_hint(key, inner[0]), _expected_value_hint(one, inner[1]))
            if each
        )
        examples = {float: {"name": 1}, str: {"name": "value"}}
        example = f", such as {examples[inner[1]]}" if inner[1] in examples else ""
        return next(wrong, "") if isinstance(value, Mapping) else f"a mapping{example}"
    if origin not in {tuple, Sequence, Collection}:
        return ""
    is_set = origin is Collection
    kinds: Any = (list, tuple, set, frozenset) if is_set else (list, tuple)
    kind = "set" if is_set else "tuple"
    words = f"a {kind} of {_plural_type_words(inner[0])}"
    if isinstance(value, str) and inner[0] is str and not has_surrogate(value):
        return f"{words}, such as { {value} if is_set else (value,)!r}"
    if not isinstance(value, kinds):
        return words
    return words if any(_expected_value_hint(each, inner[0]) for each in value) else ""


def _json_value_hint(value: Any) -> str:
    """The ledger's encoder decides, because it makes the digest of the recipe."""
    if not isinstance(value, Mapping):
        return "a mapping from names to values of JSON"
    try:
        orjson.dumps(dict(value), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        return f"values of JSON ({error})"
    return "" if _is_finite(value) else "finite numbers"


def _is_finite(value: Any) -> bool:
    """Whether a value has neither NaN nor infinities, which would become null."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_is_finite(each) for each in value.values())
    inner: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    return all(_is_finite(each) for each in inner)


def _type_in_words(hint: type) -> str:
    return _NAMES.get(hint) or f"{hint.__name__}(...)"


def _plural_type_words(hint: Any) -> str:
    return "strings" if hint is str else " and ".join(_type_in_words(each) for each in get_args(hint) or (hint,))
