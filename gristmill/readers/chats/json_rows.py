"""The objects of a file of JSON lines, for readers that make other documents of them than one for each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

from gristmill.lake.rows.json_values import decode_exact
from gristmill.readers.jsonl import raw_lines
from gristmill.recipes.raw_object import RawObject, Refused


class JsonRow(NamedTuple):
    """One line.

    Attributes:
        fields: the decoded object.
        where: file and row, for messages.
        line: its bytes.
    """

    fields: dict[str, Any]
    where: str
    line: bytes

    def refused(self, reason: str, detail: str = "") -> Refused:
        """The row as one that cannot become a document.

        Args:
            reason: see Refused.
            detail: more for people; may be empty.
        """
        return Refused(reason, f"{self.where} ({detail})" if detail else self.where, self.line)


def json_rows(raw: RawObject) -> Iterator[JsonRow | Refused]:
    """The lines of a file as objects, or why a line is not one. Before each, it sets `raw.raw_span` to the line.

    Args:
        raw: the raw object; see raw_lines().
    """
    for number, line in raw_lines(raw):
        where = f"{raw.name} row {number}"
        try:
            fields = decode_exact(line)
        except msgspec.ValidationError as error:
            yield Refused("number out of range", f"{where}: {error}", line)
        except orjson.JSONDecodeError as error:
            yield Refused("empty line" if not line.strip() else "invalid JSON", f"{where}: {error}", line)
        except RecursionError:
            yield Refused("nested too deeply", where, line)
        else:
            yield JsonRow(fields, where, line) if isinstance(fields, dict) else Refused("not an object", where, line)
