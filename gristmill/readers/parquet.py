"""Reads parquet files: texts, conversations or token ids."""

import io
from collections.abc import Iterator

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import Converted, RawObject

ROWS = 1024
"""Rows that are held as Python objects at a time."""


class ParquetRows(RowDocuments):
    """One row becomes one document; see RowDocuments for the fields. Columns keep their names.

    A file is read into memory whole, because its index is at its end. For `trace`, a row's raw span is in rows.

    Raises (while a file is read):
        DataError: it is not a parquet file, or it is truncated or damaged.
    """

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per row: a document, or why the row was refused.

        See gristmill.recipes.source.Source.convert.
        """
        try:
            file = pq.ParquetFile(io.BytesIO(raw.read()))
        except pa.ArrowInvalid as error:
            raise DataError(f"{raw.path}: not a parquet file, or truncated ({error}); upload it again") from error
        number = 0
        batches = file.iter_batches(ROWS)
        while (batch := self._next(batches, raw, number)) is not None:
            for row in batch.to_pylist():
                line = orjson.dumps(row, default=str, option=orjson.OPT_NON_STR_KEYS)
                raw.raw_span = RawSpan(number, number + 1)
                yield self.document(orjson.loads(line), raw, number, line)
                number += 1

    @staticmethod
    def _next(batches: Iterator[pa.RecordBatch], raw: RawObject, number: int) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{raw.path}: damaged after row {number} ({error}); upload it again") from error
