from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def look(document: Document) -> dict[str, Label]:
    """The number of words."""
    return {"words": float(len(document.text.split()))}


COUNT = Tagger(
    name="count-1",
    document=look,
    labels=(Score("words", "words between white space", unit="words", low=0),),
    description="Words of each text",
)
