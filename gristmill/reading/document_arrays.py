"""Turns rows of documents into Arrow arrays of declared types. A value of another type is an error that names its row.

A row is parsed by orjson, whole: skipping the fields that are not wanted costs more than it saves. A row that orjson
does not take is parsed as the readers of raw data parse it, so each row that they accept can be read. The text of the
metadata is compact JSON. If they have integers beyond 64 bits, or nest deeply, it is the JSON that stands in the row.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from sys import float_info
from typing import Any, NamedTuple

import msgspec
import orjson
import pyarrow as pa

from gristmill.errors import MalformedRow
from gristmill.lake.rows.json_values import decode_row, short_repr
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.reading.columns import ReadColumn

Row = dict[str, Any]

NEEDED = ("id", "source", "text")
"""The fields that each document has."""

_PYTHON: dict[str, frozenset[type]] = {
    "VARCHAR": frozenset({str}),
    "BIGINT": frozenset({int}),
    "DOUBLE": frozenset({int, float}),
    "BOOLEAN": frozenset({bool}),
    "VARCHAR[]": frozenset({list}),
}
_NOTHING = frozenset({type(None)})
_BIGINT = 1 << 63
_EXPONENT = re.compile(rb"e\+[0-9]")
"""orjson reads an integer beyond 64 bits as a number of this form. Then the digits are taken from the row."""


class RowLines(NamedTuple):
    """Some rows of a shard, in order.

    Attributes:
        path: path of the shard.
        numbers: the number of each row in the shard, from 0.
        lines: the rows, without their line feeds.
    """

    path: str
    numbers: Sequence[int]
    lines: list[bytes]


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


_metadata = msgspec.json.Decoder(_Metadata)
_NUMBERS = frozenset({int, float})


def decode_rows(held: RowLines) -> list[Row]:
    """The rows as dictionaries. Integer ids are their decimal digits.

    Raises:
        MalformedRow: a row is no JSON object, or nested too deeply; a lone surrogate is no JSON either.
    """
    try:
        rows = [orjson.loads(line) for line in held.lines]
    except orjson.JSONDecodeError:
        rows = [
            _parse_big_integer_row(line, held.path, number)
            for number, line in zip(held.numbers, held.lines, strict=True)
        ]
    if all(type(row) is dict for row in rows):
        for index, row in enumerate(rows):
            if type(row.get("id")) in _NUMBERS:
                rows[index] = _parse_big_integer_row(held.lines[index], held.path, held.numbers[index])
        return rows
    number = next(n for n, row in enumerate(rows) if type(row) is not dict)
    raise MalformedRow(held.path, held.numbers[number], "not a JSON object")


def _parse_big_integer_row(line: bytes, path: str, number: int) -> Row:
    """A row of a block that orjson does not take: an integer of 310 digits is infinity to it. Or its id is a number."""
    try:
        row: Row = decode_row(line)
    except (orjson.JSONDecodeError, *NOT_DECODED) as error:
        reason = f"not valid JSON ({error})" if line.strip() else "an empty line"
        raise MalformedRow(path, number, reason) from error
    return row


def text_values(rows: Iterable[Row], name: str, held: RowLines) -> list[str]:
    """The values of a field that each document has.

    Args:
        rows: the parsed rows.
        name: name of the field.
        held: the rows, for the message.

    Raises:
        MalformedRow: a row lacks the field, or it is no text.
    """
    values: list[Any] = [row.get(name) for row in rows]
    if set(map(type, values)) - {str}:
        number = next(n for n, value in enumerate(values) if type(value) is not str)
        raise MalformedRow(held.path, held.numbers[number], f"no string {name!r}, but {_shorten_value(values[number])}")
    return values


def document_values(column: ReadColumn, rows: list[Row], held: RowLines) -> list[Any]:
    """The values of a column of documents. A field that is absent, or null, is None.

    Args:
        column: a field of the document, or `metadata`.
        rows: the parsed rows.
        held: the rows as bytes.

    Raises:
        MalformedRow: a value has another type than the column.
    """
    if column.kind == "json":
        return _as_json(rows, held)
    if column.path in NEEDED:
        return text_values(rows, column.path, held)
    values = list(map(_path_getter(column.path), rows))
    if set(map(type, values)) - _PYTHON[column.kind] - _NOTHING:
        raise _misfit_row_error(column, values, held, lambda value: type(value) in _PYTHON[column.kind])
    if column.kind == "DOUBLE":
        try:
            return [None if value is None else float(value) for value in values]
        except OverflowError:
            raise _misfit_row_error(column, values, held, lambda value: abs(value) <= float_info.max) from None
    if column.kind == "BIGINT":
        numbers = [value for value in values if value is not None]
        if numbers and not -_BIGINT <= min(numbers) <= max(numbers) < _BIGINT:
            raise _misfit_row_error(column, values, held, lambda value: bool(-_BIGINT <= value < _BIGINT))
    if column.kind == "VARCHAR[]" and not all(map(_check_only_texts, values)):
        raise _misfit_row_error(column, values, held, _check_only_texts)
    return values


def _check_only_texts(values: list[Any] | None) -> bool:
    return values is None or not set(map(type, values)) - {str} - _NOTHING


def values_as_arrow_array(column: ReadColumn, values: Sequence[Any]) -> Any:
    """The values of a column as an Arrow array."""
    return pa.array(values, column.type)


def float_array(values: Sequence[Any]) -> Any:
    """The numbers as a pyarrow array of float64, shape (n,); an integer becomes the nearest one."""
    try:
        return pa.array(values, pa.float64())
    except pa.ArrowInvalid:  # Arrow takes no integer beyond 2**53
        return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _misfit_row_error(
    column: ReadColumn, values: list[Any], held: RowLines, fits: Callable[[Any], bool]
) -> MalformedRow:
    number = next(n for n, value in enumerate(values) if value is not None and not fits(value))
    return MalformedRow(
        held.path,
        held.numbers[number],
        f"{column.path!r} is no {column.kind}, but {_shorten_value(values[number])}",
        f"read this column with its own type: field({column.path!r}, TYPE) of gristmill.recipes.rules, or the whole of"
        " 'metadata' as JSON",
    )


def _shorten_value(value: Any) -> str:
    return "absent" if value is None else short_repr(value)


class _Broken:
    """Stands for the value below a key whose parent is no object: it fits no type."""

    def __repr__(self) -> str:
        return "below a value that is no object"


def _path_getter(path: str) -> Callable[[Row], Any]:
    keys = path.split(".")
    if len(keys) == 1:
        return lambda row: row.get(path)

    def value(row: Row) -> Any:
        found: Any = row
        for key in keys:
            if type(found) is not dict:
                return None if found is None else _Broken()
            found = found.get(key)
        return found

    return value


def _as_json(rows: list[Row], held: RowLines) -> list[str | None]:
    """The metadata of each row as compact JSON; None if they are absent, `null` if they are null."""
    written: list[str | None] = []
    for number, row in enumerate(rows):
        if "metadata" not in row:
            written.append(None)
            continue
        value = row["metadata"]
        if type(value) is not dict and value is not None:
            raise MalformedRow(held.path, held.numbers[number], f"'metadata' is no object, but {_shorten_value(value)}")
        try:
            data = orjson.dumps(value)
        except TypeError:  # an integer beyond 64 bits that decode_exact read, or more than 254 levels
            data = b""
        written.append((data if data and not _EXPONENT.search(data) else _as_it_stands(held, number)).decode())
    return written


def _as_it_stands(held: RowLines, number: int) -> bytes:
    """The metadata of a row, as the row has them."""
    try:
        return bytes(_metadata.decode(held.lines[number]).metadata)
    except NOT_DECODED as error:
        raise MalformedRow(held.path, held.numbers[number], str(error)) from error
