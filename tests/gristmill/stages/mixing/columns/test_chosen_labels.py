"""A few labels of attribute rows: the same as the general reader finds, in each form that it reads."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gristmill.errors import MalformedRow
from gristmill.lake.rows.attribute import parse_rows
from gristmill.stages.mixing.columns.chosen_labels import ChosenLabels, read_labels

SET = "x-1"
CHOSEN = ("a", "a__b")

keys = st.sampled_from(["x-1__a", "x-1__a__b", "x-1__c", "a", "a__b", "c", "x-1__x-1__a"])
numbers = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
spans = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), numbers).map(list), max_size=2)
others = st.none() | numbers | st.dictionaries(st.sampled_from(["b", "x"]), spans, max_size=1)
written = st.dictionaries(keys.filter(lambda key: key.startswith("x-1__")), spans, max_size=3)
attributes = written | st.dictionaries(keys, spans | others, max_size=2)


def line(value: Any, **more: str) -> bytes:
    return json.dumps({"id": "d", "attributes": value, **more}).encode()


def by_parsing(lines: list[bytes]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    rows = parse_rows(lines, SET, "set", 3, [9] * len(lines))
    return [(row.source, row.id) for row in rows], {key: [row.labels.get(key) for row in rows] for key in CHOSEN}


@pytest.mark.slow
@settings(max_examples=300)
@example(found=[{"x-1__a": [[0, 1, 2]]}, {"x-1__a": {"b": [[0, 1, 3]]}}])
@example(found=[{"a": [[0, 1, 2]]}])
@example(found=[{"a__b": 0.5}])
@given(found=st.lists(attributes, max_size=3))
def test_the_chosen_labels_are_those_that_parse_rows_finds(found: list[dict[str, Any]]) -> None:
    lines = [line(each, source="s") for each in found]
    try:
        expected = by_parsing(lines)
    except MalformedRow:
        return  # the general reader refuses it; what a label that nobody reads holds does not matter here
    assert read_labels(lines, SET, CHOSEN, "set", 3, [9] * len(lines)) == expected


def test_rows_as_we_write_them_are_decoded_without_the_general_reader() -> None:
    rows = [line({"x-1__a": [[0, 2, 1]], "x-1__c": [[0, 2, 7]]}, source="s"), line({"x-1__a__b": []})]
    assert ChosenLabels(SET, CHOSEN).read(rows) == (
        [("s", "d"), ("", "d")],
        {"a": [[(0, 2, 1.0)], None], "a__b": [None, []]},
    )


@pytest.mark.parametrize(
    "found", [{"a": [[0, 2, 1]]}, {"x-1__a": 0.5}, {"a": {"b": []}}, {"x-1__x-1__a": 1, "x-1__a": None}]
)
def test_rows_of_another_form_are_left_to_the_general_reader(found: dict[str, Any]) -> None:
    assert ChosenLabels(SET, CHOSEN).read([line(found)]) is None


def test_a_wrong_row_is_named() -> None:
    with pytest.raises(MalformedRow, match="set: row 4: "):
        read_labels([line({}), b'{"id":"d","attributes":{"x-1__a":"red"}}'], SET, CHOSEN, "set", 3, None)
