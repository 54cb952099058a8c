"""Checks the arguments of a reader's calls: a wrong type is an error in words, at the call."""

from collections.abc import Iterable
from operator import index
from typing import SupportsIndex

from gristmill.errors import RecipeError
from gristmill.lake.rows.json_values import short_repr


def check_name(argument: str, value: object, example: str) -> None:
    """Checks a name.

    Args:
        argument: name of the argument in the call.
        value: value that the caller gave.
        example: a valid one, for the message.

    Raises:
        RecipeError: it is no string.

    >>> check_name("version", "wiki/v1", "wiki/v1")
    """
    if not isinstance(value, str):
        raise RecipeError(f"{argument} is {short_repr(value)}; give a string, such as {example!r}")


def check_names(kinds: tuple[type, ...] = (str,), /, **lists: object) -> None:
    """Checks lists of names. None stands for the default, which the caller knows.

    Args:
        kinds: the types that their elements may have.
        lists: the lists, by the name of the argument.

    Raises:
        RecipeError: one is a string, which would be taken letter by letter, or no list, or has another element.

    >>> check_names(sets=["gopher-1"], shards=None)
    """
    for argument, value in lists.items():
        if isinstance(value, kinds):
            raise RecipeError(f"{argument} is {short_repr(value)}; give a list: {argument}=[{short_repr(value)}]")
        if value is not None and (isinstance(value, bytes) or not isinstance(value, Iterable)):
            raise RecipeError(f"{argument} is {short_repr(value)}; give a list")
        wrong = [each for each in value or () if not isinstance(each, kinds)] if isinstance(value, list | tuple) else []
        if wrong:
            raise RecipeError(f"{argument} has the element {short_repr(wrong[0])}; give names")


def check_count(call: str, value: SupportsIndex | None, *, signed: bool = False) -> None:
    """Checks a number of rows, or a seed; None passes.

    Args:
        call: beginning of the message, such as `limit is` or `seed is`.
        value: value that the caller gave.
        signed: whether it may be negative.

    Raises:
        RecipeError: it is no whole number, or negative.

    >>> check_count("limit is", 3)
    """
    if value is None:
        return
    try:
        number = index(value)
    except TypeError:
        raise RecipeError(f"{call} {short_repr(value)}; give a whole number") from None
    if number < 0 and not signed:
        raise RecipeError(f"{call} {number}; give a number of rows, 0 or more")
