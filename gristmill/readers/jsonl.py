"""Reads JSON lines of any form. `raw_lines` gives each line its number and its byte range, for other readers too."""

from collections.abc import Iterator

import orjson

from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.rows.shard_file import blocks, rows_of, unpacked
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import Converted, RawObject, Refused

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8. At the beginning of a file it is not part of the first row."""


def raw_lines(raw: RawObject) -> Iterator[tuple[int, bytes]]:
    """The lines of a packed or plain file, each with its number.

    Before each line, `raw.raw_span` is set to the line's byte range in the unpacked file.

    Args:
        raw: the raw object. Its name says how it is packed.

    Yields:
        (number, line): number counts from 0; line is the bytes without line feed and byte order mark.

    Raises:
        DataError: the file is truncated, or its bytes are not of the format that its name says.
    """
    number = offset = 0
    for block in blocks(unpacked(raw.chunks(), raw.path)):
        for line in rows_of(block):
            start = len(BOM) if not number and line.startswith(BOM) else 0
            raw.raw_span = RawSpan(offset + start, offset + len(line))
            yield number, line[start:] if start else line
            number += 1
            offset += len(line) + 1


class JsonLines(RowDocuments):
    """One line becomes one document; see RowDocuments for the fields.

    A line that is not a valid document is refused, with its file and row number.
    """

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per line: a document, or why the line was refused.

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
