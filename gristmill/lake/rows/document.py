"""Document and Span: one row of text, and one scored part of a text."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType


class Span(NamedTuple):
    """A part of a document's text with a score.

    Attributes:
        start: the first code point.
        end: the code point after the last one: the part is `text[start:end]`.
        score: any finite number; its meaning is the tagger's.
    """

    start: int
    end: int
    score: float


class Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document in Dolma's format (Dolma toolkit, docs/data-format.md).

    The last three fields are optional. Absent (`UNSET`), null (`None`) and present are three different things.

    Attributes:
        id: unique within the source.
        text: the document.
        source: name of the source.
        added: time when the document was acquired; a string as the source wrote it, preferably RFC 3339 in UTC.
        created: time when the document was written; a string like `added`.
        metadata: any JSON object.

    >>> Document(id="d1", text="To be.", source="plays")
    Document(id='d1', text='To be.', source='plays', added=UNSET, created=UNSET, metadata=UNSET)
    """

    id: str
    text: str
    source: str
    added: str | UnsetType | None = UNSET
    created: str | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType | None = UNSET
