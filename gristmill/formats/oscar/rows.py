"""From a line of OSCAR v2 to a row of the lake, in Dolma's form, without a loss.

| of the line | in the document |
| --- | --- |
| `warc-record-id` | `id`; without one, `sha256:` and the digest of the line |
| `content` | `text`, unchanged |
| `warc-date` | `created` |
| `warc-target-uri` | `metadata.url` |
| `metadata.identification.label` | `metadata.language`, as a BCP 47 tag |
| `warc_headers` | `metadata.warc_headers`, in its order |
| `metadata` | `metadata.oscar`, complete, in its order |
| other keys | `metadata.oscar_extra` |
| the line's own bytes | `metadata.oscar_line`, only where they are needed: see gristmill.formats.oscar.compose |
"""

import hashlib
from typing import Any, NamedTuple

import msgspec
import orjson
from msgspec import UNSET

from gristmill.formats.oscar.compose import EXTRA, HEADERS, KEPT, OSCAR, join_line, line_of_document, text_digest
from gristmill.formats.oscar.labels import PUBLISHED, Schema, bcp47_tag
from gristmill.formats.oscar.schema import (
    Line,
    LineError,
    check_line,
    check_schema,
    extra_keys,
    invalid_line_reason,
    language_labels_of_line,
    line_decoder,
)
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import decode_exact, find_repeated_key


class OscarRow(NamedTuple):
    """A line as a row of the lake.

    Attributes:
        id: id of the document.
        row: its JSON, without a line feed.
        remarks: oddities that a ledger counts: unknown labels, extra keys, lines that are kept verbatim.
    """

    id: str
    row: bytes
    remarks: tuple[str, ...]


class OscarRows:
    """Makes rows of lines.

    Args:
        source: name of the source.
        schema: schema of the lines: `22.01` or `23.01`.
        added: date on which the release was acquired, for every document; None: the rows have no `added`.

    Raises:
        RecipeError: there is no such schema.
    """

    def __init__(self, source: str, schema: Schema, added: str | None = None) -> None:
        check_schema(schema, f"OSCAR source {source!r}")
        self._source, self._schema, self._added = source, schema, added
        self._decoder = line_decoder(schema)
        self._encode = msgspec.json.Encoder().encode
        self._published: frozenset[str] = PUBLISHED[schema]
        given = b',"source":' + self._encode(source)
        self._given = given if added is None else given + b',"added":' + self._encode(added)

    def row(self, line: bytes) -> OscarRow:
        """The row of one line. Composing it gives the line's bytes again; this is checked.

        Args:
            line: content of the line in UTF-8 without its line feed.

        Raises:
            LineError: the line is not valid.
        """
        try:
            decoded: Line = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise invalid_line_reason(line, error) from error
        labels = language_labels_of_line(decoded)
        check_line(decoded, labels - self._published)
        remarks = () if labels <= self._published else self._unknown_label_counters(labels)
        encode = self._encode
        content, headers, metadata = encode(decoded.content), encode(decoded.warc_headers), encode(decoded.metadata)
        if join_line(content, headers, metadata, {}) != line:
            try:
                return self._verbatim_row(line, decoded, remarks)
            except RecursionError as error:
                raise invalid_line_reason(line, error) from error
        given = decoded.warc_headers
        id_ = _document_id(given, line)
        date, url = given.get("warc-date"), given.get("warc-target-uri")
        parts = [b'{"id":', encode(id_), b',"text":', content, self._given]
        if date is not None:
            parts += [b',"created":', encode(date)]
        parts.append(b',"metadata":{')
        if url is not None:
            parts += [b'"url":', encode(url), b","]
        language = encode(bcp47_tag(decoded.metadata.identification.label, self._schema))
        parts += [b'"language":', language, b',"warc_headers":', headers, b',"oscar":', metadata]
        parts += [b',"oscar_line":{"text_xxh3":"', text_digest(decoded.content).encode(), b'"}}}']
        return OscarRow(id_, b"".join(parts), remarks)

    def _unknown_label_counters(self, labels: set[str]) -> tuple[str, ...]:
        """The counters of labels that are not published. Their form is checked elsewhere."""
        unknown = sorted({label.lower() for label in labels} - self._published)
        return tuple(f"unknown label {label}" for label in unknown)

    def _verbatim_row(self, line: bytes, decoded: Line, remarks: tuple[str, ...]) -> OscarRow:
        """The row of a valid line that is not as the release writes it: other keys, spaces, escapes, numbers."""
        try:
            value = decode_exact(line)
        except msgspec.ValidationError as error:
            raise LineError("number out of range", str(error)) from error
        except orjson.JSONDecodeError as error:
            raise invalid_line_reason(line, error) from error
        twice = find_repeated_key(line, value)
        if twice is not None:
            raise LineError("a key twice", f"$.{twice:.60}")
        remarks += tuple(f"extra key {path:.80}" for path in extra_keys(value, self._schema))
        metadata: dict[str, Any] = {}
        if "warc-target-uri" in decoded.warc_headers:
            metadata["url"] = decoded.warc_headers["warc-target-uri"]
        metadata["language"] = bcp47_tag(decoded.metadata.identification.label, self._schema)
        metadata |= {HEADERS: value.pop("warc_headers"), OSCAR: value.pop("metadata")}
        text = value.pop("content")
        if value:
            metadata[EXTRA] = value
        metadata[KEPT] = {"text_xxh3": text_digest(text)}
        document = Document(
            id=_document_id(decoded.warc_headers, line),
            text=text,
            source=self._source,
            added=UNSET if self._added is None else self._added,
            created=decoded.warc_headers.get("warc-date", UNSET),
            metadata=metadata,
        )
        if line_of_document(document).line != line:
            metadata[KEPT] |= _bytes_around_content(line, self._encode(text))
            remarks += ("line kept verbatim",)
        return OscarRow(document.id, self._encode(document), remarks)


def _document_id(headers: dict[str, str], line: bytes) -> str:
    """The id of a line's document."""
    id_ = headers.get("warc-record-id") or f"sha256:{hashlib.sha256(line).hexdigest()}"
    if "\x00" in id_:
        raise LineError("NUL in id", "in $.warc_headers.warc-record-id")
    return id_


def _bytes_around_content(line: bytes, content: bytes) -> dict[str, str]:
    """The bytes of a line around its content; the whole line if the content is written in another way than ours."""
    start = line.find(content, line.find(b'"content"') + 9)
    if start < 0:
        return {"whole": line.decode()}
    return {"before": line[:start].decode(), "after": line[start + len(content) :].decode()}
