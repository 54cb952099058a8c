import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.streamed_file import StreamedFile


def test_a_file_of_pieces_reads_on_and_does_not_seek() -> None:
    file = StreamedFile(iter([b"ab", b"", b"cdef"]), "a.txt")
    assert (file.read(3), file.readline()) == (b"abc", b"def")
    with pytest.raises(RecipeError, match=r"^a.txt: the converter opened it as a stream.*raw.open\(seekable=True\)$"):
        file.seek(0)
