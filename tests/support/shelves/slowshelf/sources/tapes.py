from collections.abc import Iterator

from slowshelf.dawdling import dawdle

from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.source import Source

READ = DolmaLines("tapes")


def convert(raw: RawObject) -> Iterator[Converted]:
    """Rows in Dolma's form, after a while."""
    dawdle()
    yield from READ(raw)


TAPES = Source(name="tapes", convert=convert, watched=False)
