"""Archives and single files as one stream of files."""

import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.files.raw_files import FileDocuments, raw_files
from gristmill.readers.text import plain_text
from gristmill.readers.zip_archive import Member
from gristmill.recipes.raw_object import Converted, LeftOut, Limits, RawObject, Refused


class Texts(FileDocuments):
    def wants(self, name: str) -> bool:
        return name.endswith(".txt")

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:  # noqa: ARG002
        yield Document(id=file.name, text=plain_text(file.raw), source=self.source)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.txt", data)
        archive.writestr("x.md", b"x")
    return buffer.getvalue()


def test_the_members_of_an_archive_are_files_and_bad_ones_are_refused(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "t.zip", zipped(a=b"one", b=b"\xff", c=b"three", d=b"x" * 100))
    raw.limits = Limits(row=50)
    assert list(Texts(source="talks")(raw)) == [
        Document(id="a.txt", text="one", source="talks"),
        Refused("not utf-8", "t.zip entry b.txt (at byte 0)", b"\xff", offset=0, member="b.txt"),
        Document(id="c.txt", text="three", source="talks"),
        Refused("entry too large", "t.zip entry d.txt (100 bytes)", b"", 100),
        LeftOut("not among the wanted members"),
    ]


@pytest.mark.parametrize(("name", "data"), [("en/a.txt", b"one"), ("en/a.txt.gz", gzip.compress(b"one", mtime=0))])
def test_a_single_file_is_unpacked_and_named_without_its_packing(tmp_path: Path, name: str, data: bytes) -> None:
    raw = talk_file(tmp_path, name, data)
    assert list(Texts(source="talks")(raw)) == [Document(id="en/a.txt", text="one", source="talks")]
    assert raw.take_raw_span() == RawSpan(0, 3)


def test_a_single_file_above_the_limit_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.txt.gz", gzip.compress(bytes(8 << 20), mtime=0))
    raw.limits = Limits(row=1 << 20)
    (file,) = raw_files(raw, lambda _: True)
    assert (file.refused, len(file.raw), file.size <= 3 << 20) == ("row too long", 1 << 20, True)


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.txt\.gz"):
        list(Texts(source="talks")(talk_file(tmp_path, "a.txt.gz", gzip.compress(b"one" * 1000, mtime=0)[:-9])))
