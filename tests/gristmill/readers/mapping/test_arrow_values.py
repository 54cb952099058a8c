"""Whole columns become the same Python objects as Arrow makes of each value."""

import datetime as dt
import decimal
import random
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds
import pytest

from gristmill.readers.mapping.arrow_values import plain_values, without_nanoseconds

SCALARS = [pa.string(), pa.large_string(), pa.int32(), pa.uint64(), pa.bool_(), pa.float32(), pa.float64()]


def some_type(dice: random.Random, depth: int = 0) -> pa.DataType:
    drawn = dice.randrange(4) if depth < 3 else 3
    if drawn == 0:
        return pa.struct([(f"f{n}", some_type(dice, depth + 1)) for n in range(dice.randrange(1, 4))])
    if drawn == 1:
        return dice.choice([pa.list_, pa.large_list])(some_type(dice, depth + 1))
    return dice.choice(SCALARS)


def some_value(dice: random.Random, kind: pa.DataType) -> Any:
    if dice.random() < 0.2:
        return None
    if kinds.is_struct(kind):
        return {kind.field(n).name: some_value(dice, kind.field(n).type) for n in range(kind.num_fields)}
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return [some_value(dice, kind.value_type) for _ in range(dice.randrange(4))]
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return dice.choice(["", "é", "x" * 5])
    if kinds.is_boolean(kind):
        return dice.random() < 0.5
    if kinds.is_floating(kind):
        return dice.choice([0.5, -0.0, 1e30])
    return dice.choice([0, 7, 2**64 - 1 if kinds.is_uint64(kind) else -(2**31)])


def test_columns_of_any_shape_slices_and_nulls_are_those_of_arrow() -> None:
    dice = random.Random(7)
    for _ in range(300):
        kind = some_type(dice)
        column = pa.array([some_value(dice, kind) for _ in range(dice.randrange(6))], kind)
        part = column.slice(dice.randrange(len(column) + 1), dice.randrange(5))
        assert [repr(plain_values(each)) for each in (column, part)] == [
            repr(each.to_pylist()) for each in (column, part)
        ]


def test_a_value_of_a_dictionary_is_one_object_in_all_rows() -> None:
    values = plain_values(pa.array(["x" * 99, None, "x" * 99, "y"]).dictionary_encode())
    assert values == ["x" * 99, None, "x" * 99, "y"]
    assert values[0] is values[2]


def test_times_and_decimals_become_strings() -> None:
    time = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.UTC)
    for value, written in (
        (pa.array([time, None], pa.timestamp("us", "UTC")), "2024-05-06T07:08:09+00:00"),
        (pa.array([time.date(), None]), "2024-05-06"),
        (pa.array([decimal.Decimal("1.50"), None]), "1.50"),
    ):
        assert plain_values(value) == [written, None]
    with pytest.raises((ValueError, OverflowError)):
        plain_values(pa.array([10**18], pa.timestamp("us")))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"x"]),
        pa.array([float("nan")]),
        pa.array([[1.0], [float("inf")]]),
        pa.array([{"a": b"x"}]),
        pa.array([[None, None]]),
        pa.array([1], pa.duration("s")),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
    ],
)
def test_what_json_has_no_form_for_is_left_to_arrow(column: pa.Array) -> None:
    assert plain_values(column) is None


def test_times_are_in_microseconds_before_they_become_objects_which_pandas_would_change() -> None:
    inside = pa.list_(pa.struct([("at", pa.timestamp("ns", "UTC"))]))
    columns = [
        pa.array([1000], pa.timestamp("ns")),
        pa.array([2000], pa.duration("ns")),
        pa.array([[{"at": 0}]], inside),
    ]
    batch = without_nanoseconds(pa.RecordBatch.from_arrays(columns, ["at", "took", "inside"]))
    assert "[ns" not in str(batch.schema)
    assert plain_values(batch.column(0)) == ["1970-01-01T00:00:00.000001"]
    assert batch.column(1).to_pylist() == [dt.timedelta(microseconds=2)]
    with pytest.raises(pa.ArrowInvalid, match="would lose data"):
        without_nanoseconds(pa.RecordBatch.from_arrays([pa.array([1], pa.timestamp("ns"))], ["at"]))
