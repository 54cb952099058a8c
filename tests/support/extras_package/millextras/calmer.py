"""Calmer: exclamation marks become full stops."""

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Transform


def calmer(document: Document) -> str:
    return document.text.replace("!", ".")


CALMER = Transform(name="calmer-1", document=calmer)
