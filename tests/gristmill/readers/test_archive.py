"""Archives as raw objects: tar in every packing, and zip."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import archive_members, is_archive, refused_member
from gristmill.readers.code.code_files import CodeFiles
from gristmill.readers.texts import TextFiles
from gristmill.readers.zip_archive import Member
from gristmill.recipes.raw_object import Limits, RawObject, Refused

FILES = {"a/one.txt": b"one", "a/empty.txt": b"", "b.md": b"x" * 1500}
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".tar": bytes,
    ".tar.gz": gzip.compress,
    ".tgz": gzip.compress,
    ".tar.bz2": bz2.compress,
    ".tar.xz": lzma.compress,
    ".tar.zst": zstandard.compress,
}


def tarred(files: dict[str, bytes], **options: object) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **options) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1700000000
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files: dict[str, bytes], comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def found(raw: RawObject, **options: Any) -> dict[str, bytes | str]:
    return {member.name: member.refused or member.raw for member in archive_members(raw, **options)}


@pytest.mark.parametrize("ending", PACK)
def test_the_files_of_a_tar_archive_come_in_its_order_however_it_is_packed(tmp_path: Path, ending: str) -> None:
    raw = talk_file(tmp_path, f"texts{ending}", PACK[ending](tarred(FILES, pax_headers={"comment": "c0ffee"})))
    members = list(archive_members(raw, lambda name: name.endswith(".txt")))
    assert members == [
        Member("a/one.txt", b"one", modified=1700000000, comment="c0ffee"),
        Member("a/empty.txt", b"", modified=1700000000, comment="c0ffee"),
    ]


def test_the_files_of_a_zip_archive_come_with_the_comment_of_the_archive(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "Texts.ZIP", zipped(FILES, b"c0ffee"))
    assert [(each.name, each.raw, each.comment) for each in archive_members(raw)] == [
        (name, data, "c0ffee") for name, data in FILES.items()
    ]


def test_trace_learns_which_bytes_of_which_member_are_meant(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "texts.tar", tarred(FILES))
    assert [raw.take_raw_span() for _ in archive_members(raw)] == [
        RawSpan(0, len(data), name) for name, data in FILES.items()
    ]


def test_limits_are_those_of_the_source_or_of_the_call(tmp_path: Path) -> None:
    for name, data in (("x.tar", tarred(FILES)), ("x.zip", zipped(FILES))):
        raw = talk_file(tmp_path, name, data)
        raw.limits = Limits(row=1000)
        assert found(raw) == {**FILES, "b.md": "entry too large"}
        assert found(talk_file(tmp_path, name, data), entry_limit=2) == {
            **FILES,
            "a/one.txt": "entry too large",
            "b.md": "entry too large",
        }
        assert found(talk_file(tmp_path, name, data), total_limit=1000) == {**FILES, "b.md": "archive too large"}


def test_a_refused_member_becomes_a_row_of_the_quarantine_with_its_size(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "x.tar", tarred({"a": b"12345", "../b\n": b""}))
    first, second = (refused_member(raw, member) for member in archive_members(raw, entry_limit=3))
    assert first == Refused("entry too large", "x.tar entry a (5 bytes)", b"", 5)
    assert second == Refused("unsafe entry name", "x.tar entry '../b\\n'", b"", 0)


def test_what_unpacks_to_far_more_than_honest_data_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.recipes.raw_object._FLOOR", 1 << 20)
    raw = talk_file(tmp_path, "x.tar.gz", gzip.compress(tarred({"a": bytes(2 << 20)}), 1, mtime=0))
    raw.limits = Limits(unpack=1)
    with pytest.raises(DataError, match="as a decompression bomb does"):
        found(raw, entry_limit=1)


def test_a_name_without_the_ending_of_an_archive_is_an_error_that_lists_them(tmp_path: Path) -> None:
    assert not is_archive("x.7z")
    with pytest.raises(DataError, match=r"x\.7z: not known as an archive; its name must end with one of \.tar, "):
        found(talk_file(tmp_path, "x.7z", b""))


DESKTOP = {
    "__MACOSX/a/._one.txt": b"\0\5\x16\7",
    "a/._one.txt": b"\0\5\x16\7",
    "a/.DS_Store": b"Bud1",
    "Thumbs.db": b"x",
    "a/desktop.ini": b"[x]",
}


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_files_of_a_desktop_are_counted_and_not_read(tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]) -> None:
    raw = talk_file(tmp_path, f"x.{'tar' if pack is tarred else 'zip'}", pack({**DESKTOP, **FILES, "a/.keep": b"k"}))
    asked: list[str] = []

    def accept(name: str) -> bool:
        asked.append(name)
        return True

    assert [each.name for each in archive_members(raw, accept)] == [*FILES, "a/.keep"]
    assert asked == [*FILES, "a/.keep"]
    assert raw.counts == {"file of a desktop in an archive": 5}


def test_readers_of_archives_count_files_of_a_desktop_once(tmp_path: Path) -> None:
    """CodeFiles goes through an archive twice."""
    for reader in (TextFiles(source="talks"), CodeFiles(source="talks")):
        raw = talk_file(tmp_path, "x.zip", zipped({**DESKTOP, "a/one.py": b"x = 1\n"}))
        assert [row.id for row in reader(raw) if isinstance(row, Document)] == [
            "x.zip/a/one.py" if isinstance(reader, TextFiles) else "x/a/one.py"
        ]
        assert raw.counts == {"file of a desktop in an archive": 5}
