from collections.abc import Mapping

from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Tagger

WORD = "STOP"


def look(document: Document) -> Mapping[str, Label]:
    """Every first telegraphic stop."""
    found = document.text.find(WORD)
    return {"stops": [] if found < 0 else [Span(found, found + len(WORD), 1.0)]}


STOPS = Tagger(name="stops-1", document=look, parameters={"word": WORD}, only=frozenset({"papers"}))
