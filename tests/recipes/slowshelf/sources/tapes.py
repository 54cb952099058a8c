from collections.abc import Iterator

from slowshelf.dawdling import dawdle

from gristmill.stages.conversion import Converted, RawObject, Source
from gristmill.stages.dolma_lines import DolmaLines

READ = DolmaLines("tapes")


def convert(raw: RawObject) -> Iterator[Converted]:
    """Rows in Dolma's form, after a while."""
    dawdle()
    yield from READ(raw)


TAPES = Source(name="tapes", convert=convert, watched=False)
