"""Rows of others become documents: conversations, ids, texts under any name; what else they hold is metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text


@dataclass(frozen=True, kw_only=True)
class RowDocuments:
    """How a row becomes a document.

    Attributes:
        source: the source's name.
        format: what the rows are: the field that it names makes the document's text.
        id_key: the field with the id; a row without it gets the name of its raw object and its number there.
    """

    source: str
    format: Format = field(default_factory=Text)
    id_key: str = "id"

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        """A row as a document: the text is its text, what was said in it, or nothing where it has ids only.

        Args:
            row: as it was decoded.
            raw: the raw object.
            number: of the row in it, from 0.
            line: its bytes, for the quarantine.
        """
        where = f"{raw.name} row {number}"
        if not isinstance(row, dict) or not all(isinstance(name, str) for name in row):
            return Refused("not an object", where, line)
        found = row.get(self.id_key)
        if isinstance(found, bool) or not isinstance(found, str | int | None):
            return Refused(f"{self.id_key} is no string or number", where, line)
        own = f"{raw.path.rpartition('/raw/')[2]}:{number}" if found is None or found == "" else str(found)
        text = self._text(row)
        if text is None:
            return Refused(f"no {_key(self.format)}", where, line)
        if "\x00" in text or "\x00" in own:
            return Refused("NUL in text or id", where, line)
        taken = {self.id_key, "text"} if self.format == Text() else {self.id_key}
        metadata = {name: value for name, value in row.items() if name not in taken}
        return (
            Document(id=own, text=text, source=self.source, metadata=metadata)
            if metadata
            else Document(id=own, text=text, source=self.source)
        )

    def _text(self, row: Mapping[str, Any]) -> str | None:
        found = row.get(_key(self.format))
        if isinstance(self.format, Text):
            return found if isinstance(found, str) else None
        if isinstance(self.format, Prebuilt):
            own = row.get("text")
            return (own if isinstance(own, str) else "") if isinstance(found, list) else None
        return said(found) if isinstance(found, list) else None


def said(messages: list[Any]) -> str:
    """A conversation as people read it: a line of role and colon before what each said."""
    turns = [turn for turn in messages if isinstance(turn, dict)]
    return "\n\n".join(f"{turn.get('role', '')}: {_content(turn.get('content'))}" for turn in turns)


def _content(content: object) -> str:
    """What was said; of contents in several pieces the texts."""
    if isinstance(content, list):
        return "".join(str(piece.get("text", "")) for piece in content if isinstance(piece, dict))
    return content if isinstance(content, str) else ""


def _key(declared: Format) -> str:
    if isinstance(declared, Text):
        return declared.text_key
    return declared.messages_field if isinstance(declared, Chat) else declared.input_ids_key
