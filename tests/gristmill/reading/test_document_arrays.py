"""Documents as arrays: values as they stand in the rows, and hostile rows by file and number."""

import json
from typing import Any

import pytest

from gristmill.errors import MalformedRow
from gristmill.reading.columns import ReadColumn
from gristmill.reading.document_arrays import RowLines, decode_rows, document_values, text_values, values_as_arrow_array

HUGE = 123456789012345678901234567890


def held(*rows: Any, first: int = 5) -> RowLines:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return RowLines("lake/a.jsonl.gz", range(first, first + len(lines)), lines)


def column(path: str, kind: str, *rows: Any) -> list[Any]:
    lines = held(*rows)
    read = ReadColumn("c", path, kind)
    values = document_values(read, decode_rows(lines), lines)
    assert values_as_arrow_array(read, values).to_pylist() == values
    return values


def test_values_are_those_of_the_rows() -> None:
    rows = [{"metadata": {"n": 1, "x": 2, "b": True, "l": ["a", None], "o": {"t": "deep"}}}, {"metadata": None}, {}]
    assert column("metadata.n", "BIGINT", *rows) == [1, None, None]
    assert column("metadata.x", "DOUBLE", *rows) == [2.0, None, None]
    assert column("metadata.b", "BOOLEAN", *rows) == [True, None, None]
    assert column("metadata.l", "VARCHAR[]", *rows) == [["a", None], None, None]
    assert column("metadata.o.t", "VARCHAR", *rows) == ["deep", None, None]
    assert column("metadata.n", "DOUBLE", {"metadata": {"n": 2**60 + 1}}, {}) == [2.0**60, None]


def test_metadata_are_compact_json_null_is_not_absent_and_digits_are_kept() -> None:
    rows = [{"metadata": {"a": 1.5, "b": [1]}}, {"metadata": None}, {}, b'{"metadata": {"n": %d, "f": 1e25}}' % HUGE]
    assert column("metadata", "json", *rows) == [
        '{"a":1.5,"b":[1]}', "null", None, '{"n": %d, "f": 1e25}' % HUGE,  # noqa: UP031 - as the row has it
    ]  # fmt: skip
    assert column("metadata", "json", {"metadata": {"text": "1e5"}}) == ['{"text":"1e5"}']


LONG = int("9" * 400)
"""The readers of raw data take it; a float of orjson does not."""


def nested(levels: int) -> bytes:
    return b'{"metadata":{"n":1,"x":2.5,"deep":' + b'{"a":' * levels + b"1" + b"}" * levels + b"}}"


@pytest.mark.parametrize("digits", [309, 310, 4299])
@pytest.mark.parametrize("sign", ["", "-"])
def test_each_integer_that_the_readers_take_is_read_with_its_digits(digits: int, sign: str) -> None:
    long = b'{"metadata":{"long":%s,"n":7,"x":2}}' % (sign + "9" * digits).encode()
    rows = [long, b'{"metadata":{"n":8,"x":0.5}}']
    assert column("metadata", "json", *rows) == [long[12:-1].decode(), '{"n":8,"x":0.5}']
    assert column("metadata.n", "BIGINT", *rows) == [7, 8]
    assert column("metadata.x", "DOUBLE", *rows) == [2.0, 0.5]


@pytest.mark.parametrize("levels", [252, 253, 254, 255, 900])
def test_each_depth_that_the_readers_take_is_read(levels: int) -> None:
    row = nested(levels)
    assert column("metadata", "json", row) == [row[12:-1].decode()]
    assert column("metadata.n", "BIGINT", row) == [1]


@pytest.mark.parametrize("levels", [1000, 1100, 100_000])
def test_a_row_that_is_nested_too_deeply_is_named(levels: int) -> None:
    with pytest.raises(MalformedRow, match=r"lake/a\.jsonl\.gz: row 6: "):
        column("metadata", "json", {}, nested(levels))


@pytest.mark.parametrize(
    ("path", "kind", "row", "words"),
    [
        ("text", "VARCHAR", {"text": 3}, "row 6: no string 'text', but 3"),
        ("id", "VARCHAR", {"id": None}, "row 6: no string 'id', but absent"),
        ("created", "VARCHAR", {"created": 2024}, "row 6: 'created' is no VARCHAR, but 2024"),
        ("metadata.n", "BIGINT", {"metadata": {"n": "1"}}, "row 6: 'metadata.n' is no BIGINT, but '1'"),
        ("metadata.n", "BIGINT", {"metadata": {"n": True}}, "row 6: 'metadata.n' is no BIGINT, but True"),
        ("metadata.n", "BIGINT", {"metadata": {"n": 2**63}}, "is no BIGINT, but 9223372036854775808"),
        ("metadata.n", "BIGINT", {"metadata": {"n": HUGE}}, "is no BIGINT, but 1.2345678901234568e+29"),
        ("metadata.n", "BIGINT", {"metadata": {"n": LONG}}, "is no BIGINT, but 9999"),
        ("metadata.n", "BIGINT", {"metadata": {"n": -LONG}}, "is no BIGINT, but -9999"),
        ("metadata.n", "DOUBLE", {"metadata": {"n": LONG}}, "is no DOUBLE, but 9999"),
        ("metadata.n", "DOUBLE", {"metadata": {"n": -LONG}}, "is no DOUBLE, but -9999"),
        ("metadata.n", "VARCHAR", {"metadata": {"n": LONG}}, "is no VARCHAR, but 9999"),
        ("metadata.n", "DOUBLE", b'{"metadata":{"n":1e400}}', "row 6: not valid JSON"),
        ("metadata.deep", "VARCHAR", nested(900), "'metadata.deep' is no VARCHAR, but "),
        ("metadata.l", "VARCHAR[]", {"metadata": {"l": ["a", 1]}}, "row 6: 'metadata.l' is no VARCHAR[], but ['a', 1]"),
        ("metadata.a.b", "VARCHAR", {"metadata": {"a": 1}}, "but below a value that is no object"),
        ("metadata", "json", {"metadata": [1]}, "row 6: 'metadata' is no object, but [1]"),
        ("id", "VARCHAR", b'{"id":"\\ud800"}', "row 6: not valid JSON"),
        ("id", "VARCHAR", b'{"id":"\xed\xa0\x80"}', "row 6: not valid JSON"),
        ("id", "VARCHAR", b'{"id":"x"},{"id":"y"}', "row 6: not valid JSON"),
        ("id", "VARCHAR", b"[1]", "row 6: not a JSON object"),
        ("id", "VARCHAR", b"", "row 6: an empty line"),
    ],
)  # fmt: skip
def test_a_hostile_row_is_named(path: str, kind: str, row: Any, words: str) -> None:
    fine = {"id": "d", "text": "", "created": "x", "metadata": {}}
    with pytest.raises(MalformedRow) as told:
        column(path, kind, fine, row, fine)
    assert str(told.value).startswith("lake/a.jsonl.gz: row 6: ")
    assert words in str(told.value)


def test_the_texts_of_a_field_are_checked() -> None:
    lines = held({"id": "a"}, {"id": 1.5}, first=0)
    with pytest.raises(MalformedRow, match=r"row 1: no string 'id', but 1\.5"):
        text_values(decode_rows(lines), "id", lines)
