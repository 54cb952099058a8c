"""Decoded rows become documents: one field gives the id, one the text; the others become metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text

_TEXT = Text()


@dataclass(frozen=True, kw_only=True)
class RowDocuments:
    """How a decoded row becomes a document.

    Attributes:
        source: name of the source.
        format: the form of the rows. The field that it names gives the document's text.
        id_key: name of the field with the id. A row without it gets the raw object's name and its row number as id.
    """

    source: str
    format: Format = field(default_factory=Text)
    id_key: str = "id"

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        """Makes a document from a row.

        A `Text` row gives its text, a `Chat` row its conversation as readable text. A `Prebuilt` row holds token ids:
        its text is the field `text`, or empty.

        Args:
            row: the decoded row.
            raw: the raw object that holds it.
            number: its number in the raw object, counted from 0.
            line: its bytes, for the quarantine.

        Returns:
            The document, or why the row was refused.
        """
        where = f"{raw.name} row {number}"
        if not isinstance(row, dict) or not all(isinstance(name, str) for name in row):
            return Refused("not an object", where, line)
        given = row.get(self.id_key)
        if isinstance(given, bool) or not isinstance(given, str | int | None):
            return Refused(f"{self.id_key} is no string or number", where, line)
        row_id = f"{raw.path.rpartition('/raw/')[2]}:{number}" if given is None or given == "" else str(given)
        text = self._text(row)
        if text is None:
            return Refused(f"no {_key(self.format)}", where, line)
        if "\x00" in text or "\x00" in row_id:
            return Refused("NUL in text or id", where, line)
        used = {self.id_key, "text"} if self.format == _TEXT else {self.id_key}
        metadata = {name: value for name, value in row.items() if name not in used}
        return (
            Document(id=row_id, text=text, source=self.source, metadata=metadata)
            if metadata
            else Document(id=row_id, text=text, source=self.source)
        )

    def _text(self, row: Mapping[str, Any]) -> str | None:
        content = row.get(_key(self.format))
        if isinstance(self.format, Text):
            return content if isinstance(content, str) else None
        if not isinstance(content, list):
            return None
        if isinstance(self.format, Prebuilt):
            text = row.get("text")
            return text if isinstance(text, str) else ""
        return field_text(content)


def field_text(messages: list[Any]) -> str:
    r"""A conversation as readable text: one paragraph per message, with the role and a colon in front.

    Args:
        messages: objects with `role` and `content`. Entries that are not objects are left out.

    >>> field_text([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
    'user: Hi\n\nassistant: Ho'
    """
    turns = [turn for turn in messages if isinstance(turn, dict)]
    return "\n\n".join(f"{turn.get('role', '')}: {_content(turn.get('content'))}" for turn in turns)


def _content(content: object) -> str:
    """The text of a message. If the content is a list of pieces, their texts are joined."""
    if isinstance(content, list):
        return "".join(str(piece.get("text", "")) for piece in content if isinstance(piece, dict))
    return content if isinstance(content, str) else ""


def _key(declared: Format) -> str:
    """The field that holds the rows' content in this format."""
    if isinstance(declared, Text):
        return declared.text_key
    return declared.messages_field if isinstance(declared, Chat) else declared.input_ids_key
