from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Score, Spans, Tagger


def look(document: Document) -> dict[str, Label]:
    """The number of words; the first one; and nothing at all of French."""
    words = document.text.split()
    french = isinstance(document.metadata, dict) and document.metadata.get("language") == "fr"
    return {
        "count": float(len(words)),
        "first": [Span(0, len(words[0]), 1.0)] if words else [],
        "silent": None if french else 1.0,
    }


WORDS = Tagger(
    name="words-1",
    document=look,
    labels=(
        Score("count", "words between white space", unit="words", low=0),
        Spans("first", "the first word", low=1, high=1),
        Score("silent", "1 where the text is not French", low=1, high=1, optional=True),
    ),
)
