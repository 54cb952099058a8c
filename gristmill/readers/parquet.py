"""Reads parquet files: texts, conversations or token ids.

Source: the format of parquet files (https://parquet.apache.org/docs/file-format). The values of a column are stored in
pages. The first page of a column may be a dictionary: the following ones then repeat its values by number. So a small
file may hold a large value in millions of rows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import DataError
from gristmill.lake.rows.json_values import not_json_reason
from gristmill.lake.rows.raw_spans import RawSpan, SpannedRows
from gristmill.readers.mapping.arrow_values import arrow_value_as_string, plain_values, without_nanoseconds
from gristmill.readers.mapping.columns import check_columns
from gristmill.readers.mapping.many import GiveUp
from gristmill.readers.mapping.odd_rows import UNTOLD, rows_one_by_one
from gristmill.readers.parts.row_groups import WINDOW, RangedFile, check_index, column_start, row_groups_of_part
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused

ROWS = 256
"""Most rows that are decoded at a time."""
_DECODED = 256 << 20
"""Most bytes that the rows of one batch take, if all of them hold the largest value of each dictionary."""
_LARGE = 32 << 20
"""Size of a batch in bytes from which its rows become Python objects one by one."""
_WIDEST = 32
"""Most characters of JSON for each byte of a column, besides the names of fields."""
_PAGE = re.compile(rb"\x15([\x00-\x7f])\x15([\x80-\xff]{0,4}[\x00-\x7f])", re.DOTALL)
"""The first fields of a page's header, in Thrift's compact form: its type, and its unpacked size."""
_HEADER = 16  # bytes of a page that hold these fields
_OPTION = orjson.OPT_PASSTHROUGH_DATETIME
_Rows = tuple[Iterator[dict[str, Any] | Refused], bool]
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_DICTIONARY = 2 << 1  # the type of a dictionary page, as Thrift writes it


@dataclass(frozen=True, kw_only=True)
class ParquetRows(RowDocuments):
    """One row becomes one document; see RowDocuments for the fields. Columns keep their names.

    A file is read row group by row group. Of a group of more than 64 MiB, only single pages are held. For `trace`, a
    row's raw span is in rows. Split cuts a file at its row groups. Checksums of pages are verified.

    Decimals become strings of all their digits. Dates, times of day and timestamps become strings as in ISO 8601. A row
    with bytes is refused, and, unless `nan` says otherwise, a row with NaN or an infinity: JSON has neither. A row with
    a string that is not UTF-8 is refused too.

    Attributes:
        leave_out: columns that are not read, such as images.
        nan: `refuse` rows with NaN or an infinity; or `null`: they become null, as where pandas wrote missing values.

    Raises (while a file is read):
        DataError: it is not a parquet file, it is truncated or damaged, it unpacks to far more than honest data do, a
            column of `leave_out` does not exist, or a timestamp is finer than microseconds or beyond the year 9999.
    """

    gives_json: ClassVar[bool] = True
    row_ids = RowDocuments.row_ids

    nan: Literal["refuse", "null"] = "refuse"

    def cut_by(self, name: str) -> str:  # noqa: ARG002 - whatever its name
        """The units at which an object is cut into parts, whatever its name. See Split."""
        return "row groups"

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per row: a document, or why the row was refused.

        See gristmill.recipes.source.Source.convert.
        """
        for batch, number in self._read_batches(raw):
            yield from self._each_row(_batch_as_rows(batch, raw, number), batch, raw, number)

    def blocks(self, raw: RawObject) -> Iterator[Converted | SpannedRows]:
        """The same rows as when it is called, many at once where all are plain."""
        for batch, number in self._read_batches(raw):
            rows, plain = _batch_as_rows(batch, raw, number)
            if plain and self.plan is not None and _has_no_long_row(batch, raw):
                try:
                    made, pairs = self.plan.encode_documents([row for row in rows if isinstance(row, dict)])
                    numbers = range(number, number + batch.num_rows + 1)
                    yield SpannedRows(made, pairs, numbers[:-1], numbers[1:])
                    continue
                except GiveUp:
                    rows, plain = _batch_as_rows(batch, raw, number)
            yield from self._each_row((rows, plain), batch, raw, number)

    def _each_row(self, given: _Rows, batch: pa.RecordBatch, raw: RawObject, number: int) -> Iterator[Converted]:
        rows, plain = given
        known_short = plain and _has_no_long_row(batch, raw)
        for row in rows:
            raw.raw_span = RawSpan(number, number + 1)
            if isinstance(row, Refused):
                yield row
            else:
                yield (
                    self._convert_plain_row(row, raw, number)
                    if known_short
                    else self._convert_row(row, raw, number, plain=plain)
                )
            number += 1

    def _read_batches(self, raw: RawObject) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows of the file in batches, each with the number of its first row."""
        ranges = RangedFile(raw)
        if raw.size <= WINDOW and raw.part is None:
            ranges.hold_window(0, raw.size)
        try:
            file = pq.ParquetFile(ranges, buffer_size=_BUFFER, page_checksum_verification=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{raw.path}: not a parquet file, or truncated ({error}); upload it again") from error
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        raw.check_unpacked(sum(group.total_byte_size for group in groups), file.metadata.num_rows, raw.size)
        check_index(file, raw.path)
        check_columns(self, file.schema_arrow, raw.path)
        columns = self._columns_to_read(file.schema_arrow.names, raw)
        at = raw.part.start if raw.part else 0
        for own in row_groups_of_part(file.metadata, raw):
            number = own.first
            if raw.size > WINDOW or raw.part:
                ranges.pass_over(at, own.start)
                ranges.hold_window(own.start, own.end)
                at = own.end
            at_once = _rows_at_once(ranges, groups[own.number])
            batches = file.iter_batches(at_once, row_groups=[own.number], columns=columns, use_threads=False)
            while (batch := self._next_batch(batches, raw, number)) is not None:
                yield batch, number
                number += batch.num_rows
            if number - own.first != groups[own.number].num_rows:
                raise DataError(f"{raw.path}: damaged: fewer rows than its index says; upload it again")

    def _columns_to_read(self, names: list[str], raw: RawObject) -> list[str] | None:
        """The columns that are read; None: all."""
        unknown = sorted(key for key in self.leave_out if key not in names and key.partition(".")[0] not in names)
        if unknown:
            raise DataError(f"{raw.path}: no column {', '.join(unknown)} to leave out; it has: {', '.join(names)}")
        if self.keep is None:
            return [name for name in names if name not in self.leave_out] if self.leave_out else None
        heads = {key.partition(".")[0] for key in (*self.named(), *self.implied_fields())}
        return [name for name in names if name in heads or any(name == key for key in self.named())]

    def _convert_plain_row(self, row: dict[str, Any], raw: RawObject, number: int) -> Converted:
        """The document of a row whose values are those of JSON, and which cannot be too long."""
        made = self.document(row, raw, number, b"")
        return made._replace(raw=orjson.dumps(row)) if isinstance(made, Refused) else made

    def _convert_row(self, row: dict[str, Any], raw: RawObject, number: int, *, plain: bool) -> Converted:
        nan = self.nan == "refuse"
        try:
            line = orjson.dumps(row, default=_arrow_value_as_string, option=_OPTION)
            wrong = _bytes_or_nan(row, nan=True) if nan and not plain and b"null" in line else None  # NaN becomes null
        except TypeError:
            line, wrong = orjson.dumps(row, default=arrow_value_as_string, option=_OPTION), _bytes_or_nan(row, nan=nan)
        if wrong:
            return Refused(wrong[0], f"{raw.name} row {number} ({wrong[1]})", line)
        if len(line) > raw.limits.row:
            where = f"{raw.name} row {number}: {len(line)} bytes, but row_limit is {raw.limits.row}; its first are kept"
            return Refused(TOO_LONG, where, line, len(line))
        return self.document(row if plain else orjson.loads(line), raw, number, line)

    @staticmethod
    def _next_batch(batches: Iterator[pa.RecordBatch], raw: RawObject, number: int) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except MemoryError:  # Arrow's own is an ArrowException too
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{raw.path}: damaged after row {number} ({error}); upload it again") from error


def _arrow_value_as_string(value: object) -> str:
    """A value of Arrow's for which JSON has no form."""
    if isinstance(value, bytes):
        raise TypeError
    return arrow_value_as_string(value)


def _bytes_or_nan(value: object, path: str = "", *, nan: bool) -> tuple[str, str] | None:
    """The reason and the place of the first value in a row that is refused; None if it has none."""
    if isinstance(value, dict | list | tuple):
        if isinstance(value, dict):
            inner = [(f"{path}.{key}" if path else key, each) for key, each in value.items()]
        else:
            inner = [(f"{path}[{number}]", each) for number, each in enumerate(value)]
        return next(filter(None, (_bytes_or_nan(each, name, nan=nan) for name, each in inner)), None)
    if isinstance(value, float):
        words = not_json_reason(value, path) if nan else None
        return ("NaN or infinity", f"{words}, or read it with nan='null'") if words else None
    if not isinstance(value, bytes):
        return None
    return "bytes in a field", f"{path} holds bytes: write it as a string, or name its column in leave_out"


def _has_no_long_row(batch: pa.RecordBatch, raw: RawObject) -> bool:
    """Whether no row of a batch can be longer than a row may be."""
    short: bool = batch.nbytes * (_WIDEST + len(str(batch.schema))) <= raw.limits.row
    return short


def _batch_as_rows(batch: pa.RecordBatch, raw: RawObject, number: int) -> _Rows:
    """The rows of a batch, and whether all their values are those of JSON. Large batches give their rows one by one."""
    if batch.nbytes > _LARGE:
        return rows_one_by_one(batch, raw, number), False
    columns = []
    try:
        batch = without_nanoseconds(batch)
        for each in batch.columns:
            values = plain_values(each)
            if values is None:
                return iter(batch.to_pylist()), False
            columns.append(values)
    except MemoryError:  # Arrow's own is an ArrowException too
        raise
    except UNTOLD:
        return rows_one_by_one(batch, raw, number), False
    names = batch.schema.names
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)), True


def _rows_at_once(file: RangedFile, group: pq.RowGroupMetaData) -> int:
    """How many rows of a row group may be decoded at a time."""
    largest = 0
    for number in range(group.num_columns):
        column = group.column(number)
        values_in_a_row = -(-column.num_values // max(group.num_rows, 1))  # a column of lists has several
        largest += _dictionary_bytes(file, column) * max(values_in_a_row, 1)
    return max(1, min(ROWS, _DECODED // max(largest, 1)))


def _dictionary_bytes(file: RangedFile, column: pq.ColumnChunkMetaData) -> int:
    """The unpacked size of a column's dictionary; 0 if it has none. No value of the column is larger."""
    start = column_start(column)
    page = _PAGE.match(file.at(start, start + _HEADER))
    if page is None:
        size: int = column.total_uncompressed_size
        return size
    if page[1][0] != _DICTIONARY:
        return 0
    unpacked: bytes = page[2]
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(unpacked)) >> 1
