"""Format strings: how much text they could make, and that they make no character from a number.

A character from a number could be a lone surrogate, and so a mark or a twin.
"""

import re
import string
from collections.abc import Mapping
from typing import Any

from gristmill.stages.chat_templates.budget import UNBOUNDED, Budget, Unrendered, value_length

WIDEST = 1000
"""Fields are narrower than this, and numbers have fewer digits."""
_FIELD = re.compile(r"[%{]")
_PERCENT = re.compile(r"%(?:\([^()]*\))?[-#0 +]*[0-9]{0,3}(?:\.[0-9]{0,3})?[hlL]?(?:[^-#0 +1-9.*()hlLc]|$)", re.DOTALL)
"""A field of `%` that is narrow, and not `%c`. Python reads strings of fields from left to right as this does."""
_DIGITS = re.compile(r"\d{4}")


def percent_format_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    """The largest number of characters that a format string of the operator `%` could make.

    Raises:
        Unrendered: a field is too wide, takes its width from a value, or makes any character.
    """
    if isinstance(value, str) and "%" in _PERCENT.sub("", str.__str__(value)):
        raise _format_refusal()
    return _largest_formatted_size(value, args)


def brace_format_size(_: Budget, value: Any, args: tuple[Any, ...]) -> int:
    """The largest number of characters that a format string of the method `format` could make.

    Raises:
        Unrendered: a field is too wide, takes its width from a value, or makes any character.
        ValueError: it is no format string.
    """
    for _text, _name, form, _conversion in string.Formatter().parse(str.__str__(value)):
        if form and ("{" in form or form.endswith("c") or _DIGITS.search(form)):
            raise _format_refusal()
    return _largest_formatted_size(value, args)


def _format_refusal() -> Unrendered:
    return Unrendered(
        UNBOUNDED, f"a format string has a field that is {WIDEST} wide or more, of unknown width, or for any character"
    )


def _largest_formatted_size(value: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(value, str):
        return value_length(value)
    parts = sum(value_length(part) for each in args for part in _format_string_parts(each))
    return len(value) + len(_FIELD.findall(value)) * (WIDEST + parts)


def _format_string_parts(value: object) -> list[Any]:
    return [*value.values()] if isinstance(value, Mapping) else [*value] if isinstance(value, list | tuple) else [value]
