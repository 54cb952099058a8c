"""Archives that are read twice."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.files.archive_passes import ArchivePasses


def packed(ending: str) -> bytes:
    buffer = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in "abc":
                archive.writestr(name, name * 3)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name in "abc":
                info = tarfile.TarInfo(name)
                info.size = 3
                tar.addfile(info, io.BytesIO(name.encode() * 3))
    return buffer.getvalue()


@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_each_pass_begins_at_the_first_file(tmp_path: Path, ending: str) -> None:
    raw = talk_file(tmp_path, f"x{ending}", packed(ending))
    with ArchivePasses(raw) as archive:
        assert [file.raw for file in archive.members(lambda name: name == "c")] == [b"ccc"]
        assert [(file.name, file.refused) for file in archive.members(lambda _: True, 2)] == [
            (name, "entry too large") for name in "abc"
        ]
        assert next(archive.members(lambda _: True)).raw == b"aaa"
        assert raw.take_raw_span() == RawSpan(0, 3, "a")


def test_other_names_and_truncated_archives_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.txt: not known as an archive"):
        ArchivePasses(talk_file(tmp_path, "a.txt", b""))
    with pytest.raises(DataError, match=r"x\.tar\.gz"):
        ArchivePasses(talk_file(tmp_path, "x.tar.gz", packed(".tar.gz")[:-12]))
