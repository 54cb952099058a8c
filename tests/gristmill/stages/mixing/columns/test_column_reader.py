from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gristmill.errors import MalformedRow, RecipeError
from gristmill.lake.rows.attribute import Spans
from gristmill.lake.rows.batches import decode_rows
from gristmill.recipes.rules import Column, field, score, spans
from gristmill.stages.mixing.columns.column_reader import ColumnReader


def read(row: bytes, *columns: Column) -> tuple[dict[str, list[Any]], dict[str, int]]:
    reader = ColumnReader(columns)
    absent: dict[str, int] = {}
    return reader.fields(decode_rows(reader.decoder, row + b"\n", "a", 0), absent), absent


NESTED = (
    b'{"id":"i","source":"s","text":"t","metadata":{"a":{"b":1,"c":"x","d":[]},"e":null,"f":["p"],"g":2.5,"h":true}}'
)


def test_values_are_taken_from_where_their_path_says() -> None:
    values, absent = read(
        NESTED,
        field("id"),
        field("text"),
        field("metadata.a.b", "BIGINT"),
        field("metadata.a.c"),
        field("metadata.f", "VARCHAR[]"),
        field("metadata.g", "DOUBLE"),
        field("metadata.h", "BOOLEAN"),
    )
    assert values == {"id": ["i"], "text": ["t"], "b": [1], "c": ["x"], "f": [["p"]], "g": [2.5], "h": [True]}
    assert absent == {}


def test_an_absent_key_is_null_and_counted_and_a_null_is_only_null() -> None:
    values, absent = read(NESTED, field("metadata.e"), field("metadata.z"), field("metadata.y.z", name="deep"))
    assert values == {"e": [None], "z": [None], "deep": [None]}
    assert absent == {"z": 1, "deep": 1}


def test_absent_metadata_is_as_absent_keys() -> None:
    for row in (b'{"id":"i","source":"s"}', b'{"id":"i","source":"s","metadata":null}'):
        assert read(row, field("metadata.a.b")) == ({"b": [None]}, {"b": 1})


@pytest.mark.parametrize(
    ("value", "column"),
    [
        (b'"1"', field("metadata.x", "BIGINT")),
        (b"1.5", field("metadata.x", "BIGINT")),
        (b"true", field("metadata.x", "BIGINT")),
        (b"true", field("metadata.x", "DOUBLE")),
        (b"1", field("metadata.x", "BOOLEAN")),
        (b"1", field("metadata.x")),
        (b"[1]", field("metadata.x", "VARCHAR[]")),
        (b'"a"', field("metadata.x.y")),
    ],
)
def test_a_value_of_another_type_is_an_error_and_never_null(value: bytes, column: Column) -> None:
    with pytest.raises(MalformedRow, match="a: row 0: "):
        read(b'{"id":"i","source":"s","metadata":{"x":' + value + b"}}", column)


def test_a_column_below_another_or_of_two_types_is_refused() -> None:
    with pytest.raises(RecipeError, match="is below a column that is not an object"):
        ColumnReader([field("metadata.a"), field("metadata.a.b")])
    with pytest.raises(RecipeError, match="declared already with another type"):
        ColumnReader([field("metadata.a"), field("metadata.a", "BIGINT", name="b")])


def test_a_row_without_id_or_source_is_named() -> None:
    reader = ColumnReader([])
    for row in (b'{"id":"a"}', b'{"source":"s"}', b'{"id":null,"source":"s"}'):
        rows = decode_rows(reader.decoder, row + b"\n", "a", 0)
        with pytest.raises(MalformedRow, match=r"a: row 7: no string"):
            reader.pairs(rows, "a", 7)


def labels(row: Mapping[str, Spans], *columns: Column) -> tuple[dict[str, Sequence[Any]], dict[str, int]]:
    absent: dict[str, int] = {}
    reader = ColumnReader(columns)
    found = {label: [row.get(label)] for label in reader.labels_of("tox-1")}
    return reader.labels("tox-1", found, "set", 5, absent), absent


def test_scores_and_spans_are_taken_from_attribute_rows() -> None:
    row: dict[str, Spans] = {"en": [(0, 3, 0.5)], "none": [], "all": [(0, 1, 0.1), (1, 3, 0.2)]}
    columns = (score("tox-1__en", "en"), score("tox-1__none", "none"), score("tox-1__gone", "gone"))
    assert labels(row, *columns) == ({"en": [0.5], "none": [None], "gone": [None]}, {"gone": 1})
    assert labels(row, spans("tox-1__all", "every"))[0] == {"every": [[(0, 1, 0.1), (1, 3, 0.2)]]}
    with pytest.raises(MalformedRow, match=r"set: row 5: tox-1__all has 2 spans.*declare it as spans"):
        labels(row, score("tox-1__all", "every"))


def test_sets_are_told_from_the_columns() -> None:
    assert ColumnReader([score("b-1__x"), spans("a-1__y__z"), field("id")]).sets == ("a-1", "b-1")
    assert ColumnReader([field("id")]).sets == ()
