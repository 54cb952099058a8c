"""The objects of a file of JSON lines, for readers that make other documents of them than one for each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gristmill.readers.jsonl import json_value_or_refusal, raw_lines
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
            reason: short reason, as in Refused.
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
        fields = json_value_or_refusal(line, where)
        if isinstance(fields, dict):
            yield JsonRow(fields, where, line)
        else:
            yield fields if isinstance(fields, Refused) else Refused("not an object", where, line)
