"""An evaluation set: a question on each line."""

from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.source import Source


def convert(raw: RawObject) -> Iterator[Converted]:
    """`<id> <question>` on each line."""
    for line in raw.read().decode().splitlines():
        name, _, text = line.partition(" ")
        yield Document(name, text, "quiz")


QUIZ = Source(name="quiz", convert=convert)
