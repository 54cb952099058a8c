"""The values of Arrow's columns as Python objects, a whole column at a time.

Arrow makes an object for each value, which takes longer than all else that is done with a row. Columns of strings,
numbers, booleans, and of structs and lists of these go through NumPy instead.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

_MINUTE = timedelta(minutes=1)
_WHOLE_MINUTES = datetime(1973, 1, 1, tzinfo=UTC)
"""The offsets of all zones are whole minutes from then on: Liberia was the last one, in 1972."""


def without_nanoseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, one for each of the batch, with times in microseconds where they were in nanoseconds.

    Arrow makes objects of pandas for nanoseconds wherever pandas is installed, and these are written in another way.

    Args:
        batch: rows of any schema.

    Raises:
        ArrowInvalid: a time is finer than microseconds.

    >>> batch = pa.RecordBatch.from_arrays([pa.array([1000], pa.timestamp("ns"))], ["at"])
    >>> without_nanoseconds(batch).schema.field("at").type
    TimestampType(timestamp[us])
    """
    schema = pa.schema([each.with_type(_microsecond_type(each.type)) for each in batch.schema])
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _microsecond_type(kind: pa.DataType) -> pa.DataType:
    if kinds.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if kinds.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if kinds.is_struct(kind):
        return pa.struct(
            [kind.field(n).with_type(_microsecond_type(kind.field(n).type)) for n in range(kind.num_fields)]
        )
    if kinds.is_list(kind):
        return pa.list_(kind.value_field.with_type(_microsecond_type(kind.value_type)))
    if kinds.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_microsecond_type(kind.value_type)))
    return kind


def plain_values(column: pa.Array) -> list[Any] | None:
    """The values of a column, if all of them have a form in JSON; None if Arrow must make them one by one.

    Times become strings as in ISO 8601, and decimals strings of all their digits. None is returned for other types,
    such as bytes, for NaN and infinities, and for lists whose entries take no memory.

    >>> plain_values(pa.array([{"a": [1, 2]}, {"a": None}])), plain_values(pa.array([b"x"]))
    ([{'a': [1, 2]}, {'a': None}], None)

    Raises:
        ValueError: a time is one that Python cannot hold.
        OverflowError: as ValueError.
    """
    make = next((make for is_kind, make in _MAKERS if is_kind(column.type)), None)
    return None if make is None else make(column)


def _decode_dictionary_column(column: pa.Array) -> list[Any] | None:
    entries = plain_values(column.dictionary)
    numbers = _numbers_with_nulls(column.indices)
    return None if entries is None else [None if each is None else entries[each] for each in numbers]


def _nulls_as_list(column: pa.Array) -> list[Any]:
    return [None] * len(column)


def _values_as_strings(column: pa.Array) -> list[Any]:
    """Times as in ISO 8601, and decimals with all their digits."""
    if kinds.is_timestamp(column.type) and column.type.tz and _has_old(column):
        return [None if each is None else arrow_value_as_string(each) for each in column.to_pylist()]
    values: list[Any] = orjson.loads(orjson.dumps(column.to_pylist(), default=str))
    return values


def _has_old(column: pa.Array) -> bool:
    """Whether a time is of years in which a zone still had an offset with seconds. Asking each object is slow."""
    return bool(pc.any(pc.less(column, pa.scalar(_WHOLE_MINUTES).cast(column.type))).as_py())


def arrow_value_as_string(value: object) -> str:
    """A value for which JSON has no form, as a string: times as in ISO 8601.

    ISO 8601 has no seconds in the offset of a zone. Before zones, each place had its own time, such as -04:56:02 of New
    York until 1883. So such a time is written with the offset of whole minutes, as the same instant.

    >>> import zoneinfo
    >>> arrow_value_as_string(datetime(1850, 1, 1, tzinfo=zoneinfo.ZoneInfo("America/New_York")))
    '1850-01-01T00:00:02-04:56'
    """
    if isinstance(value, datetime):
        offset = value.utcoffset() or timedelta()
        value = value.astimezone(timezone(int(offset / _MINUTE) * _MINUTE)) if offset % _MINUTE else value
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _column_as_list(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values


def _numbers_with_nulls(column: pa.Array) -> list[Any]:
    """Numbers or booleans. With nulls, NumPy would make floats of them."""
    if not column.null_count:
        return _column_as_list(column)
    values = _column_as_list(column.fill_null(0 if kinds.is_integer(column.type) else False))
    for number in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[number] = None
    return values


def _finite_floats_as_list(column: pa.Array) -> list[Any] | None:
    filled = column.fill_null(0) if column.null_count else column
    numbers = filled.to_numpy(zero_copy_only=False)
    if not np.isfinite(numbers).all():
        return None
    values: list[Any] = numbers.astype(np.float64).tolist()
    if column.null_count:
        for number in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            values[number] = None
    return values


def _structs_as_dicts(column: pa.Array) -> list[Any] | None:
    names = [column.type.field(number).name for number in range(column.type.num_fields)]
    if len(set(names)) < len(names) or not names:
        return None
    fields = [plain_values(each) for each in column.flatten()]
    if any(each is None for each in fields):
        return None
    values: list[Any] = [dict(zip(names, each, strict=True)) for each in zip(*fields, strict=True)]
    if column.null_count:
        for number in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            values[number] = None
    return values


def _nested_lists(column: pa.Array) -> list[Any] | None:
    if "null" in str(column.type):  # a small file may hold millions of them in one row
        return None
    entries = plain_values(column.flatten())
    if entries is None:
        return None
    lengths = _numbers_with_nulls(column.value_lengths())
    values: list[Any] = []
    start = 0
    for length in lengths:
        if length is None:
            values.append(None)
        else:
            values.append(entries[start : start + length])
            start += length
    return values


_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], list[Any] | None]], ...] = (
    (kinds.is_string, _column_as_list),
    (kinds.is_large_string, _column_as_list),
    (kinds.is_integer, _numbers_with_nulls),
    (kinds.is_boolean, _numbers_with_nulls),
    (kinds.is_float32, _finite_floats_as_list),
    (kinds.is_float64, _finite_floats_as_list),
    (kinds.is_struct, _structs_as_dicts),
    (kinds.is_list, _nested_lists),
    (kinds.is_large_list, _nested_lists),
    (kinds.is_dictionary, _decode_dictionary_column),
    (kinds.is_null, _nulls_as_list),
    (kinds.is_timestamp, _values_as_strings),
    (kinds.is_date, _values_as_strings),
    (kinds.is_time, _values_as_strings),
    (kinds.is_decimal, _values_as_strings),
)
"""What makes the values of each type."""
