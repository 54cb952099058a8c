"""Labels as arrays: the same as parse_rows reads, in each form that it reads."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.attribute import parse_rows
from gristmill.reading.columns import ReadColumn
from gristmill.reading.document_arrays import RowLines, decode_rows
from gristmill.reading.label_arrays import label_arrays

SET = "x-1"
LENGTH = 9
SPANS = ReadColumn("spans", "x-1__a", "spans")
SCORE = ReadColumn("score", "x-1__b", "score")
MAP = ReadColumn("x-1", "x-1", "labels")


def read(columns: list[ReadColumn], *rows: Any) -> dict[str, list[Any]]:
    lines = [json.dumps(row).encode() for row in rows]
    held = RowLines("set.jsonl.gz", range(3, 3 + len(lines)), lines)
    arrays = label_arrays(columns, decode_rows(held), held, lambda: [LENGTH] * len(lines))
    return {name: array.to_pylist(maps_as_pydicts="strict") for name, array in arrays.items()}


def row(attributes: Any) -> dict[str, Any]:
    return {"id": "d", "source": "s", "attributes": attributes}


def spelled(spans: Any) -> Any:
    return None if spans is None else [{"start": a, "end": b, "score": c} for a, b, c in spans]


def test_scores_are_numbers_and_spans_are_lists_of_structs() -> None:
    rows = [row({"x-1__a": [[0, 2, 1], [2, 4, 0.5]], "x-1__b": [[0, 9, 7]]}), row({"x-1__a": []}), row({})]
    assert read([SPANS, SCORE], *rows) == {
        "spans": [spelled([(0, 2, 1), (2, 4, 0.5)]), [], None],
        "score": [7, None, None],
    }
    assert read([MAP], *rows)["x-1"] == [
        {"a": spelled([(0, 2, 1), (2, 4, 0.5)]), "b": spelled([(0, 9, 7)])}, {"a": []}, {},
    ]  # fmt: skip


labels = st.sampled_from(["x-1__a", "x-1__b", "a", "b", "y-1__a"])
numbers = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
span = st.tuples(st.integers(0, 5), st.integers(0, 9), numbers).map(list)
hostile = st.none() | st.booleans() | numbers | st.sampled_from(["", "x"]) | st.lists(numbers, max_size=3)
values = (
    st.lists(span, max_size=2)
    | hostile
    | st.dictionaries(st.sampled_from("ab"), st.lists(span, max_size=1), max_size=1)
)
rows = st.dictionaries(labels, st.lists(span, max_size=2), max_size=3) | st.dictionaries(labels, values, max_size=2)


@settings(max_examples=60)
@given(st.lists(rows.map(row) | rows.map(lambda flat: {"id": "d", **flat}), max_size=4))
@example([row({"x-1__a": None})])
def test_labels_are_those_that_the_general_reader_gives(drawn: list[dict[str, Any]]) -> None:
    lines = [json.dumps(each).encode() for each in drawn]
    try:
        expected = [parse_rows([line], SET, "set.jsonl.gz", 3 + n, [LENGTH])[0].labels for n, line in enumerate(lines)]
    except DataError:
        with pytest.raises(DataError):
            read([MAP], *drawn)
        return
    found = read([SPANS, MAP], *drawn)
    assert found["x-1"] == [{label: spelled(spans) for label, spans in each.items()} for each in expected]
    assert found["spans"] == [spelled(each.get("a")) for each in expected]
    if any(len(each.get("b", ())) > 1 for each in expected):
        with pytest.raises(MalformedRow, match=r"x-1__b has 2 spans, but column 'score' is read as one score"):
            read([SCORE], *drawn)
    else:
        assert read([SCORE], *drawn)["score"] == [each["b"][0][2] if each.get("b") else None for each in expected]


@pytest.mark.parametrize(
    "value", ["text", [[0, 1]], [[0, 1, 2, 3]], [["0", 1, 2]], [[0, 1, True]], {"c": {"d": 1}}, [[0.5, 1, 2]]]
)
@pytest.mark.parametrize("column", [SPANS, SCORE, MAP])
def test_a_hostile_label_is_named(value: Any, column: ReadColumn) -> None:
    fine = row({"x-1__a": [[0, 1, 1]], "x-1__b": [[0, 1, 1]]})
    with pytest.raises(MalformedRow, match=r"set.jsonl.gz: row 4: "):
        read([column], fine, row({"x-1__a": value, "x-1__b": value}), fine)


def test_a_number_beyond_64_bits_is_named() -> None:
    with pytest.raises(DataError, match=r"set\.jsonl\.gz: row 3"):
        read([SPANS], row({"x-1__a": [[0, 2**70, 1]]}))
