"""Reads parquet files: texts, conversations or token ids.

Source: the format of parquet files (https://parquet.apache.org/docs/file-format). The values of a column are stored in
pages. The first page of a column may be a dictionary: the following ones then repeat its values by number. So a small
file may hold a large value in millions of rows.
"""

import io
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused

ROWS = 256
"""Most rows that are decoded at a time."""
_DECODED = 256 << 20
"""Most bytes that the rows of one batch take, if all of them hold the largest value of each dictionary."""
_LARGE = 32 << 20
"""Size of a batch in bytes from which its rows become Python objects one by one."""
_PAGE = re.compile(rb"\x15([\x00-\x7f])\x15([\x80-\xff]{0,4}[\x00-\x7f])", re.DOTALL)
"""The first fields of a page's header, in Thrift's compact form: its type, and its unpacked size."""
_DICTIONARY = 2 << 1  # the type of a dictionary page, as Thrift writes it


class ParquetRows(RowDocuments):
    """One row becomes one document; see RowDocuments for the fields. Columns keep their names.

    A file is read into memory whole, because its index is at its end. For `trace`, a row's raw span is in rows.

    Raises (while a file is read):
        DataError: it is not a parquet file, it is truncated or damaged, or it unpacks to far more than honest data do.
    """

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per row: a document, or why the row was refused.

        See gristmill.recipes.source.Source.convert.
        """
        data = raw.read(raw.size)
        try:
            file = pq.ParquetFile(io.BytesIO(data))
        except pa.ArrowInvalid as error:
            raise DataError(f"{raw.path}: not a parquet file, or truncated ({error}); upload it again") from error
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        raw.check_unpacked(sum(group.total_byte_size for group in groups), file.metadata.num_rows)
        number = 0
        for place, group in enumerate(groups):
            batches = file.iter_batches(_rows_at_once(data, group), row_groups=[place])
            while (batch := self._next(batches, raw, number)) is not None:
                for row in _rows(batch):
                    raw.raw_span = RawSpan(number, number + 1)
                    yield self._row(row, raw, number)
                    number += 1

    def _row(self, row: dict[str, Any], raw: RawObject, number: int) -> Converted:
        line = orjson.dumps(row, default=str, option=orjson.OPT_NON_STR_KEYS)
        if len(line) > raw.limits.row:
            where = f"{raw.name} row {number}: {len(line)} bytes, but row_limit is {raw.limits.row}; its first are kept"
            return Refused(TOO_LONG, where, line, len(line))
        return self.document(orjson.loads(line), raw, number, line)

    @staticmethod
    def _next(batches: Iterator[pa.RecordBatch], raw: RawObject, number: int) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except MemoryError:  # Arrow's own is an ArrowException too
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{raw.path}: damaged after row {number} ({error}); upload it again") from error


def _rows_at_once(data: bytes, group: pq.RowGroupMetaData) -> int:
    """How many rows of a row group may be decoded at a time."""
    largest = 0
    for number in range(group.num_columns):
        column = group.column(number)
        values_in_a_row = -(-column.num_values // max(group.num_rows, 1))  # a column of lists has several
        largest += _dictionary_bytes(data, column) * max(values_in_a_row, 1)
    return max(1, min(ROWS, _DECODED // max(largest, 1)))


def _dictionary_bytes(data: bytes, column: pq.ColumnChunkMetaData) -> int:
    """The unpacked size of a column's dictionary; 0 if it has none. No value of the column is larger."""
    page = _PAGE.match(data, min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0))
    if page is None:
        size: int = column.total_uncompressed_size
        return size
    if page[1][0] != _DICTIONARY:
        return 0
    unpacked: bytes = page[2]
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(unpacked)) >> 1


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as Python objects; large ones one by one."""
    if batch.nbytes <= _LARGE:
        yield from batch.to_pylist()
        return
    for number in range(batch.num_rows):
        yield from batch.slice(number, 1).to_pylist()
