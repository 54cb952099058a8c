import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from gristmill.errors import DataError
from gristmill.peeking.head import READ, decode_head, guess_encoding, read_head

WORDS = "Grüße, naïve façade — „ja“"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WORDS.encode(), "utf-8"),
        (WORDS.encode()[:2] + b"\xc3", "utf-8"),  # cut off in a character
        (WORDS.encode("utf-8-sig"), "utf-8-sig"),
        (WORDS.encode("utf-16"), "utf-16"),
        (WORDS.encode("utf-32"), "utf-32"),
        (b"plain words".decode().encode("utf-16-le"), "utf-16-le"),
        (b"plain words".decode().encode("utf-16-be"), "utf-16-be"),
        ("Grüße".encode("latin-1"), "iso-8859-1"),
        (WORDS.encode("cp1252"), "windows-1252"),
        ('<?xml version="1.0" encoding="KOI8-R"?><a>да</a>'.encode("koi8-r"), "koi8-r"),
        (b"\x00\x01\x02\xff" * 100, ""),
        (b"", "utf-8"),
    ],
)
def test_an_encoding_is_found_by_its_bytes(data: bytes, encoding: str) -> None:
    assert guess_encoding(data) == encoding


def test_a_character_that_is_cut_off_is_left_out() -> None:
    assert decode_head("aé".encode()[:2], "utf-8") == "a"
    assert decode_head(b"a", "no-such-encoding") == "a"


def test_the_first_files_of_an_archive_are_listed_and_read(tmp_path: Path) -> None:
    names = [f"texts/{number}.md" for number in range(READ + 5)]
    tarred, zipped = tmp_path / "a", tmp_path / "b"
    with tarfile.open(tarred, "w:bz2") as tar:
        tar.addfile(tarfile.TarInfo("texts/link"), None)
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"one"))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.mkdir("texts")
        for name in names:
            archive.writestr(name, "one")
    for path, packing, kind in ((tarred, "bzip2", ".tar"), (zipped, "", ".zip")):
        head = read_head(path)
        assert (head.packing, head.archive, head.damage) == (packing, kind, "")
        members = [each for each in head.members if each.name != "texts/link"]
        assert [each.name for each in members] == names
        assert [each.data for each in members][:3] == [b"one"] * 3
        assert members[-1].data is None


def test_a_damaged_archive_and_a_missing_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04" + b"x" * 100)
    assert "zip" in read_head(path).damage
    with pytest.raises(DataError, match=r"nothing\.txt: cannot be read \(No such file"):
        read_head(tmp_path / "nothing.txt")


@pytest.mark.parametrize(("data", "lines"), [(b"a\nb", [b"a", b"b"]), (b"a\nb\n", [b"a", b"b"]), (b"", [])])
def test_lines_of_a_whole_file(tmp_path: Path, data: bytes, lines: list[bytes]) -> None:
    (tmp_path / "a").write_bytes(data)
    assert read_head(tmp_path / "a").lines == lines


def test_a_zip_with_too_large_a_directory_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.readers.zip_archive.ENTRIES_LIMIT", 1)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    assert "the directory of the archive has 2 entries" in read_head(path).damage
