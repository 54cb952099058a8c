"""Values of JSON: read with all digits of their integers, and checked before they are written.

JSON's integers have any number of digits. Fast decoders turn those beyond 64 bits into floats, which keep 15 digits.
Fast encoders write sets, bytes and dates too, each in its own way, and NaN as null.
"""

import json
import math
from typing import Any, Final

import msgspec
import orjson

_WHOLE: Final = float(1 << 63)
"""From here on, a float of the decoder may have been an integer."""
_SHOWN = 60
_PLAIN = frozenset({str, int, bool, type(None)})


def decode_exact(data: bytes | memoryview) -> Any:
    """The value of JSON bytes. Integers keep all their digits.

    Args:
        data: one JSON value.

    Raises:
        orjson.JSONDecodeError: it is not valid JSON.
        msgspec.ValidationError: a number is too long (some hundreds of digits) or too large for a float.

    >>> decode_exact(b'{"n": 18446744073709551616, "x": 1e30}')
    {'n': 18446744073709551616, 'x': 1e+30}
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if "infinity" not in str(error):
            raise
        return msgspec.json.decode(data)
    return msgspec.json.decode(data) if has_large(value) else value


def decode_row(line: bytes | memoryview) -> Any:
    """The value of a row. Adopted rows may have integer ids: they are read as their decimal digits.

    Args:
        line: one JSON value.

    Raises:
        orjson.JSONDecodeError: as for decode_exact().
        msgspec.ValidationError: as for decode_exact().

    >>> decode_row(b'{"id": 18446744073709551616, "n": 1}')
    {'id': '18446744073709551616', 'n': 1}
    """
    row = decode_exact(line)
    if isinstance(row, dict) and type(row.get("id")) is int:
        row["id"] = str(row["id"])
    return row


def has_large(value: Any) -> bool:
    """Whether a value has a float that may have been an integer."""
    kind = type(value)
    if kind is float:
        return bool(abs(value) >= _WHOLE)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    for each in value:
        inner = type(each)
        if inner is str or inner is int:
            continue
        if inner is float:
            if abs(each) >= _WHOLE:
                return True
        elif (inner is dict or inner is list) and has_large(each):
            return True
    return False


_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def key_twice(data: bytes) -> str | None:
    r"""The first key that an object has twice, at its top; None if it has each key once.

    Args:
        data: a valid JSON object. Of two keys that are equal, decoders keep the last one, and others the first.

    >>> key_twice(rb'{"text": 1, "te\u0078t": {"a": 2}}'), key_twice(b'{"a": {"b": 1}, "b": 1}')
    ('text', None)
    """
    fields = _raw_fields(data)
    size = 1
    for key, value in fields.items():
        size += len(key) + len(value) + 4
    if size == len(data):  # nothing but these fields is there
        return None
    if b", ".join([b'"%b": %b' % (key.encode(), bytes(value)) for key, value in fields.items()]) == data.strip()[1:-1]:
        return None  # as Python's json writes them
    found: list[str | None] = [None]

    def look(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        found[0] = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None

    json.loads(data, object_pairs_hook=look, parse_int=str, parse_float=str)
    return found[0]


def not_json(value: object, path: str) -> str | None:
    """Why a value cannot be written as JSON without a loss or a choice; None if it can.

    JSON has null, booleans, numbers, strings, lists (tuples count as lists), and objects with string keys. A set has no
    order, so two runs would write other bytes. Bytes and dates have no form of their own. NaN and infinities would
    become null.

    Args:
        value: the value.
        path: how messages call it, such as `metadata`.

    Returns:
        Words that begin with the path of the wrong part.

    >>> not_json({"a": [1, {2, 3}]}, "metadata")
    'metadata.a[1] is a set, which has no order; give a sorted list'
    >>> not_json({"a": [1, None, "b"]}, "metadata")
    """
    if type(value) in _PLAIN:
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value}; give a number or None"
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                return f"{path} has the key {shown(key)}, a {type(key).__name__}; give keys that are strings"
            if type(each) not in _PLAIN and (wrong := not_json(each, f"{path}.{key}")):
                return wrong
        return None
    if isinstance(value, list | tuple):
        for number, each in enumerate(value):
            if type(each) not in _PLAIN and (wrong := not_json(each, f"{path}[{number}]")):
                return wrong
        return None
    return f"{path} is {_mend(value)}"


def _mend(value: object) -> str:
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
    return f"a {name}, {shown(value)}, which JSON does not have; give a string, number, list or dictionary"


def shown(value: object) -> str:
    """The representation of a value, shortened for messages."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a representation is code of its class
        return f"(its repr raises {type(error).__name__})"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
