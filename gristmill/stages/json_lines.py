"""A converter for JSON lines of any form: texts, conversations, ids; .jsonl, .jsonl.gz, .json.gz, .jsonl.zst."""

from collections.abc import Iterator

import orjson

from gristmill.lake.raw_spots import Spot
from gristmill.lake.shards import blocks, rows_of, unpacked
from gristmill.stages.conversion import Converted, RawObject, Refused
from gristmill.stages.row_documents import RowDocuments

BOM = b"\xef\xbb\xbf"


class JsonLines(RowDocuments):
    """One line, one document. Lines that are none are refused, each with its file, row and byte range."""

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """See gristmill.stages.conversion.Source.convert."""
        number = offset = 0
        for block in blocks(unpacked(raw.chunks(), raw.path)):
            for line in rows_of(block):
                start = len(BOM) if not number and line.startswith(BOM) else 0
                raw.spot = Spot(offset + start, offset + len(line))
                yield self._row(line[start:], raw, number)
                number += 1
                offset += len(line) + 1

    def _row(self, line: bytes, raw: RawObject, number: int) -> Converted:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            return Refused(
                "empty line" if not line.strip() else "invalid JSON", f"{raw.name} row {number}: {error}", line
            )
        return self.document(row, raw, number, line)
