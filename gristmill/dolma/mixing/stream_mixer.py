"""StreamMixer: turns rows of documents and of their attributes into the rows that a stream gives."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
import orjson

from gristmill.dolma.formats.mixer_config import StreamSpec
from gristmill.dolma.formats.path_conditions import is_same_value
from gristmill.dolma.mixing.column_rules import ABSENT, AttributeColumns
from gristmill.dolma.mixing.line_feed import ForeignRows
from gristmill.dolma.mixing.merged_row import Values, add_provenance, join_values, value_pieces
from gristmill.dolma.mixing.span_replacement import Replacement, replace_spans
from gristmill.dolma.mixing.span_replacer import SpanReplacer
from gristmill.dolma.mixing.stream_filter import FilteredRows, StreamFilter
from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.recipes.edits.edit import WHITE_SPACE

_NULL = msgspec.Raw(b"null")
_QUOTE = ord('"')
_UTF8 = codecs.getincrementaldecoder("utf-8")
_DECODED = 1 << 20
"""Bytes that are decoded at once to check them: a row may be huge."""


@dataclass(frozen=True)
class MixedBlock:
    """What a block of documents gives.

    Attributes:
        read: number of rows that it has.
        kept: number of them that are written.
        rows: the rows that are written, each with its line feed.
    """

    read: int
    kept: int
    rows: bytes


class StreamMixer:
    """Mixes the rows of one stream.

    Args:
        spec: specification of the stream.

    Attributes:
        unseen: attributes that a filter or a selector of spans names, and no row so far has.

    Raises:
        RecipeError: an expression is not read.
    """

    def __init__(self, spec: StreamSpec) -> None:
        self._spec = spec
        self._filter = StreamFilter(spec.filter)
        self._replacers = [SpanReplacer(each) for each in spec.span_replacement]
        self._discarded = frozenset(spec.output.discard_fields)
        labels = {replacer.label for replacer in self._replacers if replacer.label is not None}
        self._labels = sorted(labels | self._filter.labels)
        self.unseen = set(self._filter.named.union(*(each.named for each in self._replacers)))
        # Whole attributes are needed if they go to the output, or if an expression reads whole rows.
        self._whole = (
            self._filter.whole or any(each.whole for each in self._replacers) or "attributes" not in self._discarded
        )
        self._rows = msgspec.json.Decoder(Values)
        kind = Values if self._whole else self._label_struct()
        self._attributes: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
        beside = msgspec.defstruct("AttributesBeside", [("id", msgspec.Raw, _NULL), ("attributes", kind)], kw_only=True)
        self._beside: msgspec.json.Decoder[Any] = msgspec.json.Decoder(beside)

    def _label_struct(self) -> type[Any]:
        names = [f"label_{number}" for number in range(len(self._labels))]
        return msgspec.defstruct(
            "LabelsRead", [(name, Any, ABSENT) for name in names], rename=dict(zip(names, self._labels, strict=True))
        )

    def mix_block(self, block: bytes, feeds: Sequence[ForeignRows], path: str, name: str, first: int) -> MixedBlock:
        """The rows that a block of documents gives.

        Args:
            block: complete lines.
            feeds: the rows of each attribute set.
            path: path of the documents, for messages.
            name: name of their file, for the provenance.
            first: number of the block's first row in the file.

        Raises:
            DataError: a row is malformed, or attributes do not fit; names file and row.
            MalformedRow: an expression fails on a row.
        """
        check_utf8(block, path, first)
        documents = decode_rows(self._rows, block, path, first)
        sets = [self._read_attribute_rows(feed, documents, path, first) for feed in feeds]
        if self._whole:
            self._merge_attributes(documents, sets, path, first)
            columns = self._columns_of_documents(documents)
        else:
            columns = self._read_attribute_columns(documents, sets, path, first)
        if self.unseen:
            self._look_for_unseen(documents, columns)
        judged = FilteredRows(documents, columns, path, first)
        place = orjson.dumps(name)[:-1] + b":"
        written: list[bytes | msgspec.Raw] = []
        kept = 0
        left = self._filter.kept_rows(judged)
        spans = [each.replacements(judged, left) for each in self._replacers]
        for number in left:
            try:
                if not self._is_long(documents[number], [span for each in spans for span in next(each)]):
                    continue
            except ValueError as error:
                raise MalformedRow(path, first + number, str(error), "mend the row or the configuration") from error
            fields = documents[number]
            for field in self._discarded:
                fields.pop(field, None)
            fields["metadata"] = add_provenance(fields.get("metadata", _NULL), place + b'%d"' % (first + number + 1))
            written += value_pieces(fields)
            written.append(b"\n")
            kept += 1
        return MixedBlock(len(documents), kept, b"".join(written))

    def _read_attribute_rows(self, feed: ForeignRows, documents: Sequence[Values], path: str, first: int) -> list[Any]:
        lines = feed.next_rows(len(documents), path, first)
        decode, found = self._beside.decode, list[Any]()
        for number, (line, document) in enumerate(zip(lines, documents, strict=True)):
            try:
                row = decode(line)
            except NOT_DECODED as error:
                raise MalformedRow(feed.path, first + number, str(error), "tag the documents again") from error
            id_ = document.get("id", _NULL)
            if bytes(row.id) != bytes(id_) and not is_same_value(orjson.loads(bytes(row.id)), orjson.loads(bytes(id_))):
                raise DataError(
                    f"{feed.path}: row {first + number} has the id {bytes(row.id).decode():.60}, and the document in"
                    f" {path} has {bytes(id_).decode():.60}; tag the documents again"
                )
            found.append(row.attributes)
        return found

    def _attributes_in_document(self, document: Values, path: str, row: int) -> Any:
        """The attributes that lie in the document itself; None if it has none, or null."""
        written = document.get("attributes", _NULL)
        if bytes(written) == b"null":
            return None
        try:
            return self._attributes.decode(written)
        except NOT_DECODED as error:
            raise MalformedRow(path, row, f"attributes: {error}", "give an object, or leave it out") from error

    def _merge_attributes(
        self, documents: Sequence[Values], sets: Sequence[Sequence[Values]], path: str, first: int
    ) -> None:
        """Writes all attributes of each document into its field `attributes`."""
        for number, document in enumerate(documents):
            attributes: Values | None = self._attributes_in_document(document, path, first + number)
            if sets:
                attributes = attributes or {}
                for beside in sets:
                    attributes.update(beside[number])
            if attributes is not None:
                document["attributes"] = msgspec.Raw(join_values(attributes))

    def _look_for_unseen(self, documents: Sequence[Values], columns: AttributeColumns) -> None:
        if not self._whole:
            self.unseen -= {name for name in self.unseen if columns.label(name).count(ABSENT) < len(documents)}
            return
        for document in documents:
            if self.unseen:
                self.unseen -= self._merged_attributes(document).keys()

    def _merged_attributes(self, document: Values) -> Values:
        """The attributes of a document after _merge_attributes()."""
        return self._attributes_in_document(document, "", 0) or {}

    def _columns_of_documents(self, documents: Sequence[Values]) -> AttributeColumns:
        values: dict[str, list[Any]] = {label: [] for label in self._labels}
        for document in documents if values else ():
            attributes = self._merged_attributes(document)
            for label, column in values.items():
                column.append(orjson.loads(bytes(attributes[label])) if label in attributes else ABSENT)
        return AttributeColumns(values)

    def _read_attribute_columns(
        self, documents: Sequence[Values], sets: Sequence[Sequence[Any]], path: str, first: int
    ) -> AttributeColumns:
        if not self._labels:
            return AttributeColumns({})
        empty = self._attributes.decode(b"{}")
        own = [
            self._attributes_in_document(document, path, first + number) or empty
            for number, document in enumerate(documents)
        ]
        columns: dict[str, Sequence[Any]] = {}
        for number, label in enumerate(self._labels):
            of_label = attrgetter(f"label_{number}")
            column = list(map(of_label, own))
            for beside in sets:
                newer = list(map(of_label, beside))
                missing = newer.count(ABSENT)
                if not missing:
                    column = newer
                elif missing < len(newer):
                    column = [old if new is ABSENT else new for new, old in zip(newer, column, strict=True)]
            columns[label] = column
        return AttributeColumns(columns)

    def _is_long(self, fields: Values, spans: Sequence[Replacement]) -> bool:
        """Replaces the spans of a row's text, and says whether the text is long enough."""
        written = fields.get("text", _NULL)
        if memoryview(written)[0] != _QUOTE:
            raise ValueError("it has no text")
        least = self._spec.output.min_text_length
        if not spans and not least:
            return True
        text = str(orjson.loads(bytes(written)))
        if spans:
            text = _replace_spans(text, spans)
            fields["text"] = msgspec.Raw(orjson.dumps(text))
        return not least or len(text.strip(WHITE_SPACE).encode()) >= least


def _replace_spans(text: str, spans: Sequence[Replacement]) -> str:
    for start, end, _ in spans:
        if max(start, end) > len(text):
            raise ValueError(f"the span [{start}, {end}] is not inside its {len(text)} code points of text")
    return replace_spans(text, spans)


def check_utf8(block: bytes, path: str, first: int) -> None:
    """Checks that a block is UTF-8: fields that nobody decodes are copied.

    Args:
        block: complete lines.
        path: path of their file, for messages.
        first: number of the block's first row in the file.

    Raises:
        MalformedRow: a row is no UTF-8.
    """
    if block.isascii():
        return
    decode = _UTF8().decode
    view = memoryview(block)
    try:
        for start in range(0, len(block), _DECODED):
            decode(view[start : start + _DECODED])
    except UnicodeDecodeError as error:
        # A row ends with a line feed, so what comes before the wrong bytes is found row by row.
        row = next(number for number, line in enumerate(split_rows(block)) if not _is_utf8(line))
        raise MalformedRow(path, first + row, f"it is no UTF-8: {error.reason}") from error


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
