from collections.abc import Sequence

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def look(documents: Sequence[Document]) -> dict[str, list[Label]]:
    """Characters of each text."""
    return {"characters": [float(len(document.text)) for document in documents]}


CHARACTERS = Tagger(
    name="characters-1", batch=look, labels=(Score("characters", "code points", unit="code points", low=0),)
)
