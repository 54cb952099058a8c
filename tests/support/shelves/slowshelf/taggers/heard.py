from collections.abc import Sequence

from slowshelf.dawdling import dawdle

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def look(documents: Sequence[Document]) -> dict[str, list[Label]]:
    """Characters of each text, after a while."""
    dawdle()
    return {"characters": [float(len(document.text)) for document in documents]}


HEARD = Tagger(
    name="heard-1",
    batch=look,
    labels=(Score("characters", "code points", unit="code points", low=0),),
    only=frozenset({"tapes"}),
)
