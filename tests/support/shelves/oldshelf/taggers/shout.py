from collections.abc import Mapping

from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Tagger

WORD = "STOP"


def look(document: Document) -> Mapping[str, Label]:
    """The share of capitals, and every telegraphic stop."""
    found = document.text.find(WORD)
    stops = [] if found < 0 else [Span(found, found + len(WORD), 1.0)]
    capitals = sum(map(str.isupper, document.text)) / max(1, len(document.text))
    return {"capitals": capitals, "stops": stops}


SHOUT = Tagger(
    name="shout-1",
    document=look,
    parameters={"word": WORD},
    description="Capitals and stops",
    only=frozenset({"books"}),
)
