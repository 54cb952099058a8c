"""Reads JSON lines: files with one JSON object per line, compressed or not.

`JsonLines` makes a document from each line. `raw_lines` gives each line with its number and its byte range, for
readers of other line formats too.
"""

from collections.abc import Iterator

import orjson

from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.rows.row_blocks import LongRow, limited_blocks
from gristmill.lake.rows.shard_file import rows_of, unpacked
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8. At the beginning of a file it is not part of the first line."""


def raw_lines(raw: RawObject) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, each with its number. Empty lines are lines too.

    Before it yields a line, it sets `raw.raw_span` to the line's byte range, so that `trace` can show where a document
    came from. The range counts bytes of the decompressed file.

    A line that is longer than `raw.limits.row` is not yielded: it is skipped in bounded memory, and refused.

    Args:
        raw: the raw object. It is decompressed if its name ends in `.gz`, `.zst` or `.zstd`.

    Yields:
        (number, line): the number counts from 0; the line is bytes, without its line feed and the byte order mark.

    Raises:
        DataError: the file is truncated, its bytes do not have the compression that its name says, or it unpacks to
            far more than honest data do.
    """
    number = offset = 0
    for block in limited_blocks(_unpacked(raw), raw.limits.row):
        if isinstance(block, LongRow):
            raw.refused.append(_too_long(block, raw, number))
            number += 1
            offset += block.length + 1
            continue
        lines = rows_of(block)
        raw.check_unpacked(offset + len(block), number + len(lines))
        for line in lines:
            start = len(BOM) if not number and line.startswith(BOM) else 0
            raw.raw_span = RawSpan(offset + start, offset + len(line))
            yield number, line[start:] if start else line
            number += 1
            offset += len(line) + 1


def _unpacked(raw: RawObject) -> Iterator[bytes]:
    """The plain bytes of a file, with a look at their number before each piece is used."""
    seen = 0
    for piece in unpacked(raw.chunks(), raw.path):
        seen += len(piece)
        raw.check_unpacked(seen)
        yield piece


def _too_long(row: LongRow, raw: RawObject, number: int) -> Refused:
    where = f"{raw.name} row {number}: {row.length} bytes, but row_limit is {raw.limits.row}; its first are kept"
    return Refused(TOO_LONG, where, row.head, row.length)


class JsonLines(RowDocuments):
    """Reads each line as one document; see RowDocuments for the arguments. Use it as the `convert` of a source.

    A line that is not a valid document is refused, with the name of its file and its row number, counted from 0.
    """

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per line: a document, or a Refused with the reason.

        See gristmill.recipes.source.Source.convert.
        """
        for number, line in raw_lines(raw):
            yield self._row(line, raw, number)

    def _row(self, line: bytes, raw: RawObject, number: int) -> Converted:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            return Refused(
                "empty line" if not line.strip() else "invalid JSON", f"{raw.name} row {number}: {error}", line
            )
        return self.document(row, raw, number, line)
