"""Document and Span: one row of text, and one scored stretch of it."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType


class Span(NamedTuple):
    """A scored stretch of a document's text: `text[start:end]`, in code points."""

    start: int
    end: int
    score: float


class Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document in Dolma's format (Dolma toolkit, docs/data-format.md).

    `added`, `created` and `metadata` are optional; absent (`UNSET`), null (`None`) and present are kept apart.
    Times are strings as the source wrote them, by preference RFC 3339 in UTC.
    """

    id: str
    text: str
    source: str
    added: str | UnsetType | None = UNSET
    created: str | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType | None = UNSET
