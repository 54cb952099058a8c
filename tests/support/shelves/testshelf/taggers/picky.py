from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Tagger


def look(document: Document) -> dict[str, Label]:
    """Fails for a text that begins with a two."""
    if document.text.startswith("2"):
        raise LookupError(document.id)
    return {}


PICKY = Tagger(name="picky-1", document=look, labels=())
