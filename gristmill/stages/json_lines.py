"""A converter for JSON lines of any form: texts, conversations, ids; .jsonl, .jsonl.gz, .json.gz, .jsonl.zst."""

from collections.abc import Iterator

import orjson

from gristmill.stages.conversion import Converted, RawObject, Refused
from gristmill.stages.raw_lines import raw_lines
from gristmill.stages.row_documents import RowDocuments


class JsonLines(RowDocuments):
    """One line, one document. Lines that are none are refused, each with its file, row and byte range."""

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """See gristmill.stages.conversion.Source.convert."""
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
