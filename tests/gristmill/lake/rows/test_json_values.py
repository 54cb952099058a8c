"""Numbers keep their digits, and what JSON does not have is named."""

import datetime as dt
import decimal
import enum
import math
import uuid

import msgspec
import numpy as np
import orjson
import pytest

from gristmill.lake.rows.json_values import decode_exact, key_twice, not_json


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
    assert (not_json({"plain": 1, "a": value}, "metadata") or "").startswith(words)


def test_what_json_has_passes() -> None:
    value = {"a": [1, -2.5, None, True, "x", 2**70, (1, 2)], "b": {"c": {}, "": []}}
    assert not_json(value, "metadata") is None


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b'{"a":1,"a":2}', "a"),
        (b'{"n":"xxxxx","b": 2, "n":1}', "n"),
        (b'{ "a" : {"b": 1, "b": 2}, "b": 3}\r', None),
        (b'{"a": 1, "b": "c"}', None),
        (b"{}", None),
        (b'{"x":%b,"x":1}' % (b"9" * 5000), "x"),
    ],
)
def test_a_key_that_stands_twice_at_the_top_is_found(data: bytes, key: str | None) -> None:
    assert key_twice(data) == key
