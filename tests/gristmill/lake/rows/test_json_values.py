"""Numbers keep their digits, and what JSON does not have is named."""

import datetime as dt
import decimal
import enum
import json
import math
import uuid
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.json_values import (
    count_keys,
    decode_exact,
    find_repeated_key,
    key_count_bound,
    not_json_reason,
)


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, -(10**100)])
@pytest.mark.parametrize("form", ['{"a":[1.5,{"n":%d}]}', "[%d]", "%d"])
def test_integers_keep_their_digits(number: int, form: str) -> None:
    line = (form % number).encode()
    assert msgspec.json.encode(decode_exact(line)) == line


def test_floats_stay_floats_and_what_is_no_number_is_refused() -> None:
    assert decode_exact(memoryview(b"[1e30,-1e300,0.5]")) == [1e30, -1e300, 0.5]
    assert [type(each) for each in decode_exact(b"[1e30,1.0]")] == [float, float]
    for line in (b"1e400", b"9" * 5000):
        with pytest.raises(msgspec.ValidationError, match="out of range"):
            decode_exact(line)
    with pytest.raises(orjson.JSONDecodeError):
        decode_exact(b"NaN")


class Unspeakable:
    def __repr__(self) -> str:
        raise OSError


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({3, 1}, "metadata.a is a set, which has no order; give a sorted list"),
        ([frozenset("x")], "metadata.a[0] is a frozenset, which has no order; give a sorted list"),
        ({"b": {"c": b"x"}}, "metadata.a.b.c is bytes; give a string, such as value.decode() or value.hex()"),
        ((1, [math.nan]), "metadata.a[1][0] is nan; give a number or None"),
        (-math.inf, "metadata.a is -inf; give a number or None"),
        (dt.date(2024, 5, 6), "metadata.a is a date; give a string, such as value.isoformat()"),
        ({1: 2}, "metadata.a has the key 1, a int; give keys that are strings"),
        (np.float32(1.5), "metadata.a is a float32; give value.tolist()"),
        (decimal.Decimal("1.5"), "metadata.a is a Decimal, Decimal('1.5'), which JSON does not have"),
        (uuid.UUID(int=1), "metadata.a is a UUID, UUID('00000000-0000-0000-0000-000000000001'), which JSON does not"),
        (Colour.RED, "metadata.a is a Colour, a kind of string; give its plain value"),
        (Unspeakable(), "metadata.a is a Unspeakable, (its repr raises OSError), which JSON does not have"),
    ],
)
def test_what_json_does_not_have_is_named_with_its_path_and_mend(value: object, words: str) -> None:
    assert (not_json_reason({"plain": 1, "a": value}, "metadata") or "").startswith(words)


def test_what_json_has_passes() -> None:
    value = {"a": [1, -2.5, None, True, "x", 2**70, (1, 2)], "b": {"c": {}, "": []}}
    assert not_json_reason(value, "metadata") is None


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b'{"a":1,"a":2}', "a"),
        (b'{"n":"xxxxx","b": 2, "n":1}', "n"),
        (b'{ "a" : {"b": 1, "b": 2}, "b": 3}\r', "a.b"),
        (b'{"a": 1, "b": "c"}', None),
        (b"{}", None),
        (b'{"x":%b,"x":1}' % (b"9" * 5000), "x"),
        (b'{"":1,"" \t:2}', ""),
        (b'[{"a":[1,{"b":1}]},{"a":[1,{"b":1,"b":1}]}]', "[1].a[1].b"),
        (rb'{"a":":","\u0061":1}', "a"),
        (rb'{"a\\":1,"b\"":2,"c":"\\\":","\":":": : \" :","d":{"a\\":1}}', None),
        (rb'{"a\\":1,"b\"":2,"c":"\\\":","\":":": : \" :","d":{"a\\":1,"a\u005c":2}}', "d.a\\"),
    ],
)
def test_a_key_that_an_object_has_twice_is_found_with_its_path(data: bytes, key: str | None) -> None:
    assert find_repeated_key(data, msgspec.json.decode(data.replace(b"9" * 5000, b"9"))) == key


KEYS = st.sampled_from(["a", "b", "a\\", '"', ":", ' :"', '":', '\\":', "\u00e9", ""])
PAIRS = st.recursive(
    KEYS | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(KEYS, inner), min_size=1, max_size=4).map(tuple),
    max_leaves=12,
)


def spelled(value: Any, colon: str, *, ascii_only: bool) -> str:
    """The JSON of a value in which a tuple of pairs is an object."""
    if isinstance(value, tuple):
        pairs = [
            json.dumps(key, ensure_ascii=ascii_only) + colon + spelled(each, colon, ascii_only=ascii_only)
            for key, each in value
        ]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(spelled(each, colon, ascii_only=ascii_only) for each in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def has_twice(value: Any) -> bool:
    if isinstance(value, tuple):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(has_twice(each) for _, each in value)
    return isinstance(value, list) and any(map(has_twice, value))


def keys_in(value: Any) -> int:
    if isinstance(value, tuple):
        return len(value) + sum(keys_in(each) for _, each in value)
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


@pytest.mark.slow
@given(PAIRS, st.sampled_from([":", ": ", " : ", "\t\r:"]), st.sampled_from(["", "ascii"]))
@settings(max_examples=200)
def test_whether_a_key_is_there_twice_is_decided_as_by_counting(value: Any, colon: str, ascii_only: str) -> None:
    data = spelled(value, colon, ascii_only=bool(ascii_only)).encode()
    decoded = msgspec.json.decode(data)
    assert (find_repeated_key(data, decoded) is not None) == has_twice(value)
    assert key_count_bound(data) >= keys_in(value) >= count_keys([decoded])[0]
    assert has_twice(value) == (keys_in(value) > count_keys([decoded])[0])


def test_a_survey_sees_a_float_that_may_have_been_an_integer_at_any_depth() -> None:
    assert count_keys([{"a": [[{"b": -(2.0**63)}]]}, 1, "x"]) == (2, True)
    assert count_keys([{"a": [[{"b": 2.0**62, "c": 2**70}]]}, None]) == (3, False)
