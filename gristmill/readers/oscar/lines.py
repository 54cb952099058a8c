"""Reads releases of OSCAR v2: one document a line, validated against the published schema, without a loss.

gristmill.formats.oscar.rows says which key of a line goes where, gristmill.formats.oscar.schema names the schemas.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gristmill.formats.oscar.labels import Schema
from gristmill.formats.oscar.rows import OscarRows
from gristmill.formats.oscar.schema import LineError
from gristmill.lake.rows.raw_spans import RawSpan, SpannedRows
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.readers.jsonl import line_blocks, raw_lines
from gristmill.readers.mapping.many import ROWS
from gristmill.readers.parts.units import cut_by
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, Copied, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds

PARTS = r"(^|/)[A-Za-z0-9-]+?(_meta)?(_part_[1-9][0-9]*)?\.jsonl(\.(gz|zst|zstd))?$"
"""The pattern of the names of OSCAR's files, for `select` of a source. Checksum files have other names."""

CHECKSUMS = r"(_sha256\.txt|(^|/)checksum\.sha384)$"
"""The pattern of the names of OSCAR's checksum files, for `checksums` of a source."""


@dataclass(frozen=True, kw_only=True)
class OscarLines(Reader):
    """Reads each line as one document; `.jsonl`, `.jsonl.gz` and `.jsonl.zst`.

    The id is the record's `warc-record-id`, verbatim; a line without one gets `sha256:` and the digest of its bytes.

    A line that is not valid is refused, with its file, row number, byte range and JSON path. That includes lines with
    comments, trailing commas or another number of identifications than lines of content. Nothing is repaired. Keys that
    the schema does not name are kept and counted, and so are language labels that the release does not list.

    Attributes:
        source: name of the source.
        schema: schema of the release: `22.01` or `23.01`.
        added: date on which the release was acquired, such as `2022-01-10`: the `added` of every document. None: it is
            left out.

    Raises:
        RecipeError: an option is wrong.
    """

    gives_json: ClassVar[bool] = True

    source: str
    schema: Schema
    added: str | None = None

    def __post_init__(self) -> None:
        check_types(self, f"OscarLines of source {self.source!r}")

    def row_ids(self) -> RowIds:
        return RowIds("field", "warc-record-id")

    def cut_by(self, name: str) -> str:
        """The units at which a file of this name is cut, such as `lines`; empty if it is never cut. See Split."""
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per line: a copied row, or why the line was refused.

        See gristmill.recipes.source.Source.convert.
        """
        rows = OscarRows(self.source, self.schema, self.added)
        for number, line in raw_lines(raw):
            try:
                id_, row, remarks = rows.row(line)
            except LineError as error:
                yield Refused(error.reason, _line_place_in_words(raw, number, error.detail), line)
                continue
            for remark in remarks:
                raw.count(remark)
            yield Copied(id_, self.source, row)

    def blocks(self, raw: RawObject) -> Iterator[Converted | SpannedRows]:
        """The same rows as when it is called, many at once."""
        make = OscarRows(self.source, self.schema, self.added).row
        for first, offset, lines in line_blocks(raw):
            many = _Many(self.source)
            start = offset
            for number, line in enumerate(lines, first):
                end = start + len(line)
                try:
                    id_, row, remarks = make(line)
                except LineError as error:
                    yield from many.take_held_rows()
                    raw.raw_span = RawSpan(start, end)
                    yield Refused(error.reason, _line_place_in_words(raw, number, error.detail), line)
                else:
                    for remark in remarks:
                        raw.count(remark)
                    if len(row) > HEAD:
                        yield from many.take_held_rows()
                        raw.raw_span = RawSpan(start, end)
                        yield Copied(id_, self.source, row)
                    else:
                        many.add(id_, row, start, end)
                    if len(many.rows) >= ROWS:
                        yield from many.take_held_rows()
                start = end + 1
            yield from many.take_held_rows()


class _Many:
    """Rows that are given at once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._clear_held_rows()

    def _clear_held_rows(self) -> None:
        self.rows: list[bytes] = []
        self._pairs: list[tuple[str, str]] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, id_: str, row: bytes, start: int, end: int) -> None:
        self.rows.append(row)
        self._pairs.append((self._source, id_))
        self._starts.append(start)
        self._ends.append(end)

    def take_held_rows(self) -> Iterator[SpannedRows]:
        if self.rows:
            self.rows.append(b"")
            yield SpannedRows(b"\n".join(self.rows), self._pairs, self._starts, self._ends)
            self._clear_held_rows()


def _line_place_in_words(raw: RawObject, number: int, detail: str) -> str:
    span = f" (bytes {raw.raw_span.start}-{raw.raw_span.end} unpacked)" if raw.raw_span else ""
    return f"{raw.name} row {number}{span}{f': {detail}' if detail else ''}"
