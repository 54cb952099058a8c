"""Checks the types of a recipe's options. A recipe may come from YAML, where `"no"` is a string and counts as true."""

from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gristmill.errors import RecipeError

_SIMPLE = (bool, int, float, str, NoneType)


def check_types(declared: Any, what: str) -> None:
    """Checks each option that is declared as a number, a string, a choice, a flag, or a tuple of these.

    Args:
        declared: the recipe, a dataclass.
        what: its name, for messages.

    Raises:
        RecipeError: an option has a value of another type.
    """
    hints = _hints(declared.__class__)
    for option in fields(declared):
        hint = hints[option.name]
        if not _is_simple(hint):
            continue
        value = getattr(declared, option.name)
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError as error:
            choices = get_args(hint) if get_origin(hint) is Literal else ()
            mend = f"give {', '.join(choices)}" if choices else str(error).lower().replace("expected", "give")
            raise RecipeError(f"{what}: {option.name} is {value!r}; {mend}") from error


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The type of each option. Python reads them anew at each call, which takes longer than all checks."""
    return get_type_hints(kind)


def _is_simple(hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return True
    if get_origin(hint) in {Union, UnionType, tuple}:
        return all(part is ... or _is_simple(part) for part in get_args(hint))
    return hint in _SIMPLE
