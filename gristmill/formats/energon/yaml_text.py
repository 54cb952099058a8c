"""YAML as Energon's files have it: written so that Energon's parser and every other one read the same values.

Energon reads YAML with rapidyaml, and decides for itself what a plain scalar is: `1e5` becomes a number there, and a
string elsewhere. So every string is written in double quotes. Text stays UTF-8, because rapidyaml does not understand
a character that is written as two escapes.
"""

import math
import re
from collections.abc import Iterator, Mapping

Scalar = str | int | float | bool | None
"""One value of a YAML file."""

_PLAIN_KEY = re.compile(r"[a-z_]{3,}")
_WORDS = {"null", "true", "false", "yes", "off"}
"""Keys that other parsers take for something else than a string."""
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]')
"""Quotes, the backslash, and what YAML takes for the end of a line or does not allow."""


def compose_yaml(value: object) -> str:
    r"""A YAML file in block style, ended by a line feed.

    Args:
        value: a mapping whose keys are strings; its values are mappings, lists, tuples or scalars. Order is kept.

    Raises:
        ValueError: a number is infinite or not a number, a string has half a surrogate pair, or a value is of a type
            that YAML has no form for.

    >>> print(compose_yaml({"path": "a b", "subflavors": {"version": "12e4"}, "blend": [{"weight": 3}], "aux": []}))
    path: "a b"
    subflavors:
      version: "12e4"
    blend:
    - weight: 3
    aux: []
    <BLANKLINE>
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            if isinstance(each, Mapping | list | tuple) and each:
                yield f"{_key(key)}:"
                indent = "  " if isinstance(each, Mapping) else ""
                yield from (f"{indent}{line}" for line in _lines(each))
            else:
                yield f"{_key(key)}: {_flow(each)}"
    elif isinstance(value, list | tuple) and value:
        for each in value:
            for n, line in enumerate(_lines(each)):
                yield f"  {line}" if n else f"- {line}"
    else:
        yield _flow(value)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not a string")  # noqa: TRY004 - one error for all that has no form
    return key if _PLAIN_KEY.fullmatch(key) and key not in _WORDS else quoted(key)


def _flow(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")  # other parsers take 1e-05 for a string
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise ValueError(f"{value!r} cannot be written as YAML")


def quoted(text: str) -> str:
    r"""A string in double quotes.

    Raises:
        ValueError: it has half a surrogate pair, which UTF-8 cannot hold.

    >>> print(quoted('a "b"\n\u2028é'))
    "a \"b\"\x0a\u2028é"
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} has half a surrogate pair, which UTF-8 cannot hold") from None
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in '"\\':
        return f"\\{char}"
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"
