from collections.abc import Mapping

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def look(document: Document) -> Mapping[str, Label]:
    """Whether a text says that it wants to be dropped."""
    return {"drop": float("DROP" in document.text)}


DROPS = Tagger(name="drops-1", document=look, labels=[Score("drop", "the text has the word DROP", low=0, high=1)])
