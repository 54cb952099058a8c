"""Verses: text files whose first line is the title."""

from collections.abc import Iterator
from dataclasses import dataclass

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.reader import Reader, RowIds


@dataclass(frozen=True, kw_only=True)
class Verses(Reader):
    """Reads them."""

    source: str

    def row_ids(self) -> RowIds:
        return RowIds("path")

    def __call__(self, raw: RawObject) -> Iterator[Document]:
        title, _, text = raw.read().decode().partition("\n")
        yield Document(id=raw.name, text=text, source=self.source, metadata={"title": title})
