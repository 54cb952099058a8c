from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.stages.conversion import RawObject, Source


def convert(raw: RawObject) -> Iterator[Document]:
    """One document a raw object, made from its name alone."""
    yield Document(raw.name, "its bytes were not read", "unread")


UNREAD = Source(name="unread", convert=convert)
