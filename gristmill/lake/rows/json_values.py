"""Values of JSON: read with all digits of their integers, and checked before they are written.

JSON's integers have any number of digits. Fast decoders turn those beyond 64 bits into floats, which keep 15 digits.
Fast encoders write sets, bytes and dates too, each in its own way, and NaN as null.
"""

import json
import math
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
import orjson

_WHOLE: Final = float(1 << 63)
"""From here on, a float of the decoder may have been an integer."""
LEVELS: Final = 200
"""Most levels of a row. Decoders stop where their stack ends, which differs between engines; so we stop before."""
ANY: Final = 1 << 30
"""For rows that are adopted, or were written before there was a limit: as many levels as the stack allows."""
_SHOWN = 60
_TOO_DEEP: Final = f"more than {LEVELS} levels"
_NOT_UTF8: Final = "which is not UTF-8; give text without lone surrogates"
_PLAIN = frozenset({str, int, bool, type(None)})
_SPACE, _QUOTE, _COLON, _BACKSLASH = b' ":\\'
_SPACES = 64
"""Most spaces before a colon that are passed to see whether a key is in front of them."""
_KEYS: Final = re.compile(rb'"(?<![^\\]\\")[ \t\r\n]*:')
"""A quote that is not escaped, and a colon after it. So ends each key; a string may also begin so."""


def decode_exact(data: bytes | memoryview, levels: int = LEVELS) -> Any:
    """The value of JSON bytes. Integers keep all their digits.

    Args:
        data: one JSON value.
        levels: most levels that it may have.

    Raises:
        orjson.JSONDecodeError: it is not valid JSON.
        msgspec.ValidationError: a number is too long (some hundreds of digits) or too large for a float.
        RecursionError: it has more levels.

    >>> decode_exact(b'{"n": 18446744073709551616, "x": 1e30}')
    {'n': 18446744073709551616, 'x': 1e+30}
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if "depth limit" in str(error):
            raise RecursionError(str(error)) from error
        if "infinity" not in str(error):
            raise
        return msgspec.json.decode(data)
    if not has_large(value, levels):
        return value
    if levels == LEVELS:
        count_keys([value])  # what stands behind the large number too
    return msgspec.json.decode(data)


def decode_row(line: bytes | memoryview) -> Any:
    """The value of a row. Adopted rows may have integer ids: they are read as their decimal digits.

    Args:
        line: one JSON value.

    Raises:
        orjson.JSONDecodeError: as for decode_exact().
        msgspec.ValidationError: as for decode_exact().
        RecursionError: as for decode_exact().

    >>> decode_row(b'{"id": 18446744073709551616, "n": 1}')
    {'id': '18446744073709551616', 'n': 1}
    """
    row = decode_exact(line, ANY)
    if isinstance(row, dict) and type(row.get("id")) is int:
        row["id"] = str(row["id"])
    return row


def has_large(value: Any, levels: int = LEVELS) -> bool:
    """Whether a value has a float that may have been an integer.

    Args:
        value: the value.
        levels: most levels that it may have.

    Raises:
        RecursionError: it has more levels.
    """
    kind = type(value)
    if kind is float:
        return bool(abs(value) >= _WHOLE)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    if not levels:
        raise RecursionError(_TOO_DEEP)
    for each in value:
        inner = type(each)
        if inner is str or inner is int:
            continue
        if inner is float:
            if abs(each) >= _WHOLE:
                return True
        elif (inner is dict or inner is list) and has_large(each, levels - 1):
            return True
    return False


def count_keys(values: Sequence[Any]) -> tuple[int, bool]:
    """What many values of JSON hold, at all depths.

    Returns:
        (keys, large): the number of keys of all objects, and whether a float may have been an integer.

    Raises:
        RecursionError: a value has more than LEVELS levels.

    >>> count_keys([{"a": 1, "b": [{"c": 1e30}]}, {"a": None}])
    (4, True)
    """
    keys, large, level = 0, False, 0
    while values:
        kinds = set(map(type, values))
        if float in kinds and not large:
            large = any(abs(each) >= _WHOLE for each in values if type(each) is float)
        objects = [each for each in values if type(each) is dict] if dict in kinds else []
        lists = [each for each in values if type(each) is list] if list in kinds else []
        keys += sum(map(len, objects))
        level += 1
        if level > LEVELS and (objects or lists):
            raise RecursionError(_TOO_DEEP)
        values = list(chain(*map(dict.values, objects), *lists))
    return keys, large


def key_count_bound(data: bytes) -> int:
    r"""An upper bound of the number of keys that are written in JSON bytes; mostly it is their number.

    Args:
        data: valid JSON, of one value or of many. For one short value, find_repeated_key() is faster.

    Returns:
        The number of keys, or more.

    >>> key_count_bound(rb'{"a": "\":", "b\\": 1}'), key_count_bound(b'{"a": ": begins with a colon"}')
    (2, 2)
    """
    codes = np.frombuffer(data, np.uint8)
    last = np.flatnonzero(codes == _COLON) - 1
    for _ in range(_SPACES):
        spaces = codes[last] <= _SPACE
        if not spaces.any():
            break
        last -= spaces
    ends = last[codes[last] == _QUOTE]
    escaped = (codes[ends - 1] == _BACKSLASH) & (codes[ends - 2] != _BACKSLASH)
    unknown = codes[last] <= _SPACE
    return len(ends) - int(np.count_nonzero(escaped)) + int(np.count_nonzero(unknown))


def find_repeated_key(data: bytes, value: Any) -> str | None:
    r"""The path of the first key that an object has twice; None if each object has each key once.

    Readers differ in which of two equal keys they take.

    Args:
        data: one valid JSON value.
        value: value that a decoder made of the object. It has one of two equal keys, so it has fewer keys than are
            written.

    >>> find_repeated_key(rb'{"text": 1, "te\u0078t": 2}', {"text": 2})
    'text'
    >>> find_repeated_key(b'{"a": [{"b": 1, "b": 2}], "b": 1}', {"a": [{"b": 2}], "b": 1})
    'a[0].b'
    """
    keys = _count_nested_keys(value)
    if len(_KEYS.findall(data)) == keys or _count_written_keys(data) == keys:
        return None
    return _first_repeated_key(json.loads(data, object_pairs_hook=_Pairs, parse_int=str, parse_float=str), "")


class _Pairs(tuple[tuple[str, Any], ...]):
    """The keys of an object with their values, as they are written."""

    __slots__ = ()


def _count_nested_keys(value: Any) -> int:
    """The number of keys in a value, at all depths."""
    keys = 0
    if type(value) is dict:
        keys = len(value)
        value = value.values()
    elif type(value) is not list:
        return 0
    for each in value:
        if type(each) is dict or type(each) is list:
            keys += _count_nested_keys(each)
    return keys


def _count_written_keys(data: bytes) -> int:
    """The number of keys in JSON bytes: outside of strings, a colon follows each key and nothing else."""
    without_escapes = data.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(without_escapes.split(b'"')[::2]).count(b":")


def _first_repeated_key(value: Any, path: str) -> str | None:
    """The path of the first key that an object has twice."""
    seen: set[str] = set()
    entries = value if isinstance(value, _Pairs) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        at = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
        if at in seen:
            return at
        seen.add(at)
        if inner := _first_repeated_key(each, at):
            return inner
    return None


def not_json_reason(value: object, path: str, levels: int = LEVELS) -> str | None:
    """Why a value cannot be written as JSON without a loss or a choice; None if it can.

    JSON has null, booleans, numbers, strings, lists (tuples count as lists), and objects with string keys. A set has no
    order, so two runs would write other bytes. Bytes and dates have no form of their own. NaN and infinities would
    become null.

    Args:
        value: the value.
        path: name of the value in messages, such as `metadata`.
        levels: most levels that it may have.

    Returns:
        Words that begin with the path of the wrong part.

    Raises:
        RecursionError: it has more levels.

    >>> not_json_reason({"a": [1, {2, 3}]}, "metadata")
    'metadata.a[1] is a set, which has no order; give a sorted list'
    >>> not_json_reason({"a": [1, None, "b"]}, "metadata")
    """
    if type(value) in _PLAIN:
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value}; give a number or None"
    if not isinstance(value, dict | list | tuple):
        return f"{path} is {_invalid_value_hint(value)}"
    if not levels:
        raise RecursionError(_TOO_DEEP)
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and not isinstance(key, str):
            return f"{path} has the key {short_repr(key)}, a {type(key).__name__}; give keys that are strings"
        at = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        if type(each) not in _PLAIN and (wrong := not_json_reason(each, at, levels - 1)):
            return wrong
    return None


def first_non_utf8_string(value: object, path: str) -> str | None:
    r"""The first string or key of a value that cannot be written, for a lone surrogate, in words; None if all can.

    Args:
        value: a value that not_json_reason() takes.
        path: name of the value in messages, such as `metadata`.

    >>> first_non_utf8_string({"a": ["b", "\ud800"]}, "metadata")
    "metadata.a[1] is '\\ud800', which is not UTF-8; give text without lone surrogates"
    """
    if isinstance(value, str):
        return f"{path} is {short_repr(value)}, {_NOT_UTF8}" if has_surrogate(value) else None
    if not isinstance(value, dict | list | tuple):
        return None
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and has_surrogate(key):
            return f"{path} has the key {short_repr(key)}, {_NOT_UTF8}"
        wrong = first_non_utf8_string(each, f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]")
        if wrong:
            return wrong
    return None


def has_surrogate(text: str) -> bool:
    r"""Whether a text has a lone surrogate, so that it cannot be written as UTF-8.

    >>> has_surrogate("\ud800"), has_surrogate("\U0001f600")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _invalid_value_hint(value: object) -> str:
    """What a value is that JSON does not have, and what to give in its place."""
    name = type(value).__name__
    if isinstance(value, set | frozenset):
        return f"a {name}, which has no order; give a sorted list"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{name}; give a string, such as value.decode() or value.hex()"
    if hasattr(value, "isoformat"):
        return f"a {name}; give a string, such as value.isoformat()"
    if isinstance(value, str | int):  # an enumeration
        return f"a {name}, a kind of {'string' if isinstance(value, str) else 'number'}; give its plain value"
    if hasattr(value, "tolist"):
        return f"a {name}; give value.tolist()"
    return f"a {name}, {short_repr(value)}, which JSON does not have; give a string, number, list or dictionary"


def short_repr(value: object) -> str:
    """The representation of a value, shortened for messages."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a representation is code of its class
        return f"(its repr raises {type(error).__name__})"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
