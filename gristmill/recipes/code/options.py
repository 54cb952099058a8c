"""The digest of the options of a reader: a changed option gives another output, whatever is said of the code."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from gristmill.lake.identity import digest_of


def options_digest(function: object) -> str:
    """The digest of an object's class and options; empty if it is no object with options, but a function.

    Options that have their default count as absent, so that a new version of a reader may have more of them.

    Args:
        function: function, or object that can be called, as a recipe names it.

    >>> from gristmill.recipes.raw_rules import Split
    >>> options_digest(Split()) == options_digest(Split(bytes=Split().bytes)), options_digest(len)
    (True, '')
    """
    return digest_of(_option_as_json(function))[:16] if _has_options(function) else ""


def _has_options(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _option_as_json(value: Any) -> Any:
    """A value as JSON that is the same in each process."""
    if _has_options(value):
        given = {each.name: _option_as_json(getattr(value, each.name)) for each in fields(value) if each.init}
        usual = {each.name: _option_as_json(_default_option_value(each)) for each in fields(value) if each.init}
        return [type(value).__name__, {name: each for name, each in given.items() if each != usual[name]}]
    if isinstance(value, Mapping):
        return {str(key): _option_as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_option_as_json(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_option_as_json(each)) for each in value)
    if isinstance(value, re.Pattern):
        return ["pattern", value.pattern, value.flags]
    if isinstance(value, bool | int | float | str | bytes | None):
        return [type(value).__name__, repr(value)]
    return getattr(value, "__qualname__", type(value).__qualname__)  # a function, whose code has a digest of its own


def _default_option_value(option: "Field[Any]") -> Any:
    if option.default_factory is not MISSING:
        return option.default_factory()
    return option.default
