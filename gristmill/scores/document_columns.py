"""Columns of documents: for each shard a parquet file beside the ledger, made from the shard's bytes alone.

`<ledger>.columns/<shard>.parquet` has `id`, `source`, `row`, the `bytes` of the row's line, the `characters` of its
text, `url` (`metadata.url`), `created`, and each field that a rule has asked for, as in `BIGINT metadata.stars`.
The file is derived: it names the `content` of its shard, and whoever reads it compares. A stale one counts as absent.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.rules import Column
from gristmill.scores.label_columns import KEY
from gristmill.scores.parquet_upload import write_parquet
from gristmill.stages.mixing.columns.column_reader import ColumnReader
from gristmill.stages.mixing.rule_engine import ValueRefused, typed_array

DOCUMENT_FORMAT = 2
"""Of the files. Files of another format count as absent: in those of 1, one odd value hid `url` of a block of rows."""

PLAIN = {
    "id": pa.string(),
    "source": pa.string(),
    "row": pa.int64(),
    "bytes": pa.int64(),
    "characters": pa.int64(),
    "url": pa.string(),
    "created": pa.string(),
}
"""The columns of each file, with their types. `url` and `created` are null in each row where they are no text."""

_ARROW = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
}
_MEND = "mend the data, or the type that the column declares"

Field = tuple[str, str]
"""Path and SQL type of a column."""


class _AnyUrl(msgspec.Struct):
    url: Any = None


class _UrlHolder(msgspec.Struct):
    metadata: _AnyUrl | str | int | float | bool | list[Any] | None = None

    @property
    def url(self) -> Any:
        return self.metadata.url if isinstance(self.metadata, _AnyUrl) else None


class _AnyCreated(msgspec.Struct):
    created: Any = None


_UNREAD = object()
"""The value of a row where no decoder reads it."""


class DocumentColumnsHead(msgspec.Struct, frozen=True):
    """What a file says of itself.

    Attributes:
        format: version of the format; see DOCUMENT_FORMAT.
        content: digest of the content of the shard that it was made from.
        fields: path and type of each field that a rule asked for, sorted.
        absent: rows that lack a field's key, by the name of its column; null is a value.
        unread_urls: rows whose `metadata.url` is no text, but may hold URLs: see may_hold_urls().
    """

    format: int
    content: str
    fields: tuple[Field, ...]
    absent: dict[str, int]
    unread_urls: int = 0


def may_hold_urls(value: object) -> bool:
    """Whether a value that is no text may have URLs in it, as a list or an object may; a number has none.

    >>> [may_hold_urls(each) for each in (["https://a.example"], {}, 7, None, "https://a.example")]
    [True, True, False, False, False]
    """
    return not (value is None or isinstance(value, str | int | float))


def column_of_field(path: str, kind: str) -> str:
    """The name of a field's column.

    >>> column_of_field("metadata.stars", "BIGINT")
    'BIGINT metadata.stars'
    """
    return f"{kind} {path}"


def make_document_columns(
    store: Store, partition: Place, shard: Shard, wanted: Sequence[Field], target: Store | None = None
) -> DocumentColumnsHead:
    """Reads a shard of documents, and writes its columns.

    Args:
        store: the lake.
        partition: partition of the documents.
        shard: its row of the ledger's table.
        wanted: path and type of each field that the file has beside the plain columns. `text` is not allowed.
        target: store that receives the file, under its path in the lake; None: in the lake.

    Returns:
        What the file says of itself.

    Raises:
        DataError: a row is wrong, or a value does not have the declared type.
        StoreError: the shard is not the one that its ledger names.
    """
    fields = tuple(sorted(set(wanted)))
    file = open_shard(store, partition, shard)
    absent: dict[str, int] = {}
    rows = _RowColumns(fields, file.path)
    batches = [rows.column_batch(block, absent) for block in file.blocks()]
    head = DocumentColumnsHead(DOCUMENT_FORMAT, shard.content, fields, dict(sorted(absent.items())), rows.unread_urls)
    types = [*PLAIN.items(), *((column_of_field(*each), _ARROW[each[1]]) for each in fields)]
    schema = pa.schema(types, metadata={KEY: msgspec.json.encode(head)})
    write_parquet(target or store, columns_path(partition, shard.name), schema, _join_batches(batches, schema))
    return head


def _join_batches(batches: Sequence[Any], schema: Any) -> Iterator[Any]:
    """The batches in larger pieces: a group of rows has a head of its own in the file."""
    if batches:
        yield from pa.Table.from_batches(batches, schema.remove_metadata()).combine_chunks().to_batches()


class _RowColumns:
    """Turns blocks of rows into record batches, in order."""

    def __init__(self, fields: Sequence[Field], path: str) -> None:
        self._fields, self._path, self._first = fields, path, 0
        self.unread_urls = 0
        declared = [Column(f"c{number}", *field) for number, field in enumerate(fields)]
        self._reader = ColumnReader([*declared, Column("text", "text", "VARCHAR")])
        self._with_url = msgspec.json.Decoder(_UrlHolder)
        self._with_created = msgspec.json.Decoder(_AnyCreated)

    def column_batch(self, block: bytes, absent: dict[str, int]) -> Any:
        rows = decode_rows(self._reader.decoder, block, self._path, self._first, _MEND)
        pairs = self._reader.pairs(rows, self._path, self._first)
        lacking: dict[str, int] = {}
        values = self._reader.fields(rows, lacking)
        urls = self._optional_values(self._with_url, block, "url")
        self.unread_urls += sum(map(may_hold_urls, urls))
        columns: dict[str, Any] = {
            "id": pa.array([id_ for _, id_ in pairs], pa.string()),
            "source": pa.array([source for source, _ in pairs], pa.string()),
            "row": pa.array(np.arange(self._first, self._first + len(pairs)), pa.int64()),
            "bytes": pa.array(_line_bytes(block), pa.int64()),
            "characters": pa.array([len(text or "") for text in values["text"]], pa.int64()),
            "url": _text_array(urls),
            "created": _text_array(self._optional_values(self._with_created, block, "created")),
        }
        for number, field in enumerate(self._fields):
            columns[column_of_field(*field)] = self._column_array(Column(f"c{number}", *field), values[f"c{number}"])
            add_counts(absent, {column_of_field(*field): lacking.get(f"c{number}", 0)})
        self._first += len(pairs)
        return pa.record_batch(columns)

    def _optional_values(self, decoder: "msgspec.json.Decoder[Any]", block: bytes, name: str) -> list[Any]:
        """A value of each row that may be anything. It is read by itself: no other row and no other value hides it."""
        try:
            return [getattr(row, name) for row in decode_rows(decoder, block, self._path, self._first)]
        except MalformedRow:  # a number that no float holds, for example
            return [self._decode_value(decoder, line, name) for line in split_rows(block)]

    def _decode_value(self, decoder: "msgspec.json.Decoder[Any]", line: bytes, name: str) -> Any:
        try:
            return getattr(decode_rows(decoder, line + b"\n", self._path, self._first)[0], name)
        except MalformedRow:
            return _UNREAD

    def _column_array(self, column: Column, values: Sequence[Any]) -> Any:
        try:
            array = typed_array(column, values)
        except ValueRefused as error:
            raise MalformedRow(self._path, self._first + error.row, str(error), _MEND) from error
        if isinstance(array, pa.ChunkedArray):
            raise DataError(f"{self._path}: the values of {column.path} are too large for columns")
        return array


def _text_array(values: Sequence[Any]) -> Any:
    return pa.array([value if isinstance(value, str) else None for value in values], pa.string())


def _line_bytes(block: bytes) -> Any:
    """The bytes of each line of a block, with its line feed."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    return np.diff(ends, prepend=0)
