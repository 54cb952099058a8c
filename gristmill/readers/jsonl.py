"""The lines of a raw object: each with its number, and the raw object told where it lies."""

from collections.abc import Iterator

import orjson

from gristmill.lake.rows.raw_spans import Spot
from gristmill.lake.rows.shard_file import blocks, rows_of, unpacked
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import Converted, RawObject, Refused

BOM = b"\xef\xbb\xbf"
"""A mark in front of a file is no part of its first row."""


def raw_lines(raw: RawObject) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line of a packed or plain file; `raw.spot` is where it lies, unpacked.

    Raises:
        DataError: the file is truncated or not what its name says.
    """
    number = offset = 0
    for block in blocks(unpacked(raw.chunks(), raw.path)):
        for line in rows_of(block):
            start = len(BOM) if not number and line.startswith(BOM) else 0
            raw.spot = Spot(offset + start, offset + len(line))
            yield number, line[start:] if start else line
            number += 1
            offset += len(line) + 1


class JsonLines(RowDocuments):
    """One line, one document. Lines that are none are refused, each with its file, row and byte range."""

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """See gristmill.recipes.source.Source.convert."""
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
