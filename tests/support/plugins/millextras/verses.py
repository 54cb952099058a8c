"""Verses: text files whose first line is the title."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.reader import Reader, RowIds
from gristmill.recipes.tagger import Label, Score, Tagger


@dataclass(frozen=True, kw_only=True)
class Verses(Reader):
    """Reads them."""

    source: str

    def row_ids(self) -> RowIds:
        return RowIds("path")

    def __call__(self, raw: RawObject) -> Iterator[Document]:
        title, _, text = raw.read().decode().partition("\n")
        yield Document(id=raw.name, text=text, source=self.source, metadata={"title": title})


def lines(document: Document) -> Mapping[str, Label]:
    return {"lines": float(document.text.count("\n"))}


VERSE_LINES = Tagger(name="verse-lines-1", document=lines, labels=(Score("lines", "line feeds"),))
