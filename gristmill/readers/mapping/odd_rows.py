"""Rows of Arrow's, one by one: what is done where a whole batch has a value that Python cannot hold."""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.types as kinds

from gristmill.errors import DataError, shorten
from gristmill.readers.mapping.arrow_values import without_nanoseconds
from gristmill.recipes.raw_object import RawObject, Refused

UNTOLD = (pa.ArrowException, ValueError, OverflowError, LookupError)
"""What Arrow raises for such a value. The last is for a time zone without a name in the tables."""
_SHOWN = 200


def rows_one_by_one(batch: pa.RecordBatch, raw: RawObject, number: int) -> Iterator[dict[str, Any] | Refused]:
    """The rows of a batch. A row with a string that is not UTF-8 is refused as "not utf-8".

    Args:
        batch: rows, not checked yet.
        raw: the file, for messages.
        number: number of the batch's first row in the file.

    Raises:
        DataError: a row has another value that Python cannot hold. The message names its row and its column.
    """
    for place in range(batch.num_rows):
        row = batch.slice(place, 1)
        try:
            (values,) = without_nanoseconds(row).to_pylist()
        except MemoryError:  # Arrow's own is an ArrowException too
            raise
        except UNTOLD as error:
            if not isinstance(error, UnicodeDecodeError):
                raise _invalid_row_error(row, raw, number + place, error) from error
            yield _escape_non_utf8_row(row, raw, number + place)
        else:
            yield values


def _escape_non_utf8_row(row: pa.RecordBatch, raw: RawObject, number: int) -> Refused:
    r"""The row as JSON, with each byte that is not UTF-8 as `\x..`."""
    wrong: list[str] = []
    values = {
        name: _readable_value(column[0], name, wrong)
        for name, column in zip(row.schema.names, row.columns, strict=True)
    }
    return Refused("not utf-8", f"{raw.name} row {number} ({wrong[0]})", orjson.dumps(values, default=str))


def _readable_value(value: pa.Scalar, path: str, wrong: list[str]) -> object:
    if not value.is_valid:
        return None
    kind = value.type
    if kinds.is_dictionary(kind):
        return _readable_value(value.value, path, wrong)
    if kinds.is_struct(kind):
        return {name: _readable_value(each, f"{path}.{name}", wrong) for name, each in value.items()}
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind) or kinds.is_map(kind):
        return [_readable_value(each, f"{path}[{number}]", wrong) for number, each in enumerate(value.values)]
    if not (kinds.is_string(kind) or kinds.is_large_string(kind)):
        return str(value)
    data = value.as_buffer().to_pybytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        wrong.append(f"{path}, at byte {error.start} of the string")
        return data.decode(errors="backslashreplace")


def _invalid_row_error(row: pa.RecordBatch, raw: RawObject, number: int, error: Exception) -> DataError:
    name, kind = next((each.name, each.type) for each in row.schema if _fails_to_decode(row.column(each.name)))
    at = f"{raw.path}: row {number}: column {name!r}"
    if twice := _first_repeated_field(kind):
        return DataError(f"{at} has two fields named {twice!r} in one struct; write the file again with distinct names")
    if has_time(kind):
        return DataError(
            f"{at} has a time that is finer than microseconds, or beyond the year 9999, or of an unknown time zone"
            f" ({error}); cast it to timestamp[us] or to string"
        )
    shown = shorten(str(kind), _SHOWN)
    return DataError(f"{at} of type {shown} has a value that cannot be read ({error}); leave it out, or write it again")


def _fails_to_decode(column: pa.Array) -> bool:
    try:
        without_nanoseconds(pa.RecordBatch.from_arrays([column], ["value"])).to_pylist()
    except UNTOLD:
        return True
    return False


def _inner_fields(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(number) for number in range(kind.num_fields)]


def _first_repeated_field(kind: pa.DataType) -> str:
    """The first name that two fields of one struct have, at any depth; or ""."""
    names: list[str] = [each.name for each in _inner_fields(kind)]
    if kinds.is_struct(kind) and (twice := [name for name in names if names.count(name) > 1]):
        return twice[0]
    return next(filter(None, (_first_repeated_field(each.type) for each in _inner_fields(kind))), "")


def has_time(kind: pa.DataType) -> bool:
    """Whether a type is one of times, or has one inside.

    >>> [has_time(kind) for kind in (pa.string(), pa.date32(), pa.list_(pa.struct({"at": pa.timestamp("ns")})))]
    [False, True, True]
    """
    return bool(kinds.is_temporal(kind)) or any(has_time(each.type) for each in _inner_fields(kind))
