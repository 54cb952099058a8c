"""Arrays of a Levanter token cache, written and read by the tests of both."""

from pathlib import Path

from gristmill.formats.levanter.array_reader import ArrayReader
from gristmill.formats.levanter.array_writer import ArrayWriter, ObjectSink, Values
from gristmill.formats.levanter.cache import range_reader_of_store
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore

INDEX = 512 * 16 + 4
"""Bytes of the index at the end of an object: 512 chunks, and a CRC."""


def write(folder: Path, values: Values, dtype: DType = "int32", *, step: int = 2**62, clevel: int = 1) -> None:
    """Writes the array `a` of a folder, in steps of so many elements."""
    store = FolderStore(str(folder))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"a/{name}")

    writer = ArrayWriter(opened, dtype, clevel=clevel)
    for start in range(0, len(values), step):
        writer.append(values[start : start + step])
    assert writer.close() == len(values)


def reader(folder: Path) -> ArrayReader:
    """Reads it."""
    return ArrayReader(range_reader_of_store(FolderStore(str(folder))), "a")
