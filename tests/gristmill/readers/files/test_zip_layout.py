import io
import zipfile

import pytest

from gristmill.errors import DataError
from gristmill.readers.zip_archive import members


class Unseekable(io.BytesIO):
    """A file that cannot seek: descriptors with checksum and sizes then follow the entries."""

    def tell(self) -> int:
        raise OSError


def zipped(names: str, hidden: str = "", *, stream: bool = False) -> bytes:
    """An archive with a file of each letter; those of `hidden` are not in its directory."""
    buffer = Unseekable() if stream else io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, name * 50)
        for name in hidden:
            archive.filelist.remove(archive.getinfo(name))
    return buffer.getvalue()


def names(data: bytes) -> list[str]:
    return [member.name for member in members(data, name="x.zip", accept=lambda _: True)]


def test_archives_of_files_and_streams_are_whole() -> None:
    assert names(zipped("ab")) == names(zipped("ab", stream=True)) == ["a", "b"]
    assert names(zipped("")) == []


@pytest.mark.parametrize(
    "data",
    [
        zipped("ab") + zipped("c"),
        b"prefix" + zipped("ab"),
        zipped("ab") + b"suffix",
        zipped("abc", "a"),
        zipped("abc", "b"),
        zipped("abc", "c"),
        zipped("abc", "b", stream=True),
    ],
)
def test_bytes_that_belong_to_no_entry_are_told(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^x\.zip: not a complete zip archive: (the bytes \d+ to|more follows behind)"):
        names(data)


def test_a_header_that_differs_from_the_directory_and_entries_that_overlap_are_damage() -> None:
    with pytest.raises(DataError, match=r"x\.zip: not a complete zip archive .the header of 'bb' differs"):
        names(zipped_long().replace(b"bb", b"cc", 1))
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("a", "x")
        archive.filelist.append(archive.filelist[0])
    with pytest.raises(DataError, match=r"entry 'a' overlaps the one before it"):
        names(twice.getvalue())


def zipped_long() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("bb", "x")
    return buffer.getvalue()
