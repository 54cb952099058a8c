from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Source


def convert(raw: RawObject) -> Iterator[Document]:
    """One document a raw object, made from its name alone."""
    yield Document(raw.name, "its bytes were not read", "unread")


UNREAD = Source(name="unread", convert=convert)
