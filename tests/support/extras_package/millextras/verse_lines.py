"""Verse lines: how many line feeds a text has."""

from collections.abc import Mapping

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def lines(document: Document) -> Mapping[str, Label]:
    return {"lines": float(document.text.count("\n"))}


VERSE_LINES = Tagger(name="verse-lines-1", document=lines, labels=(Score("lines", "line feeds"),))
