"""A checkout of code has links: its reader leaves them out, also those to nothing."""

import io
import tarfile
from pathlib import Path

import pytest
from testkit import Mill

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.scan import scan_raw
from gristmill.readers.code.code_files import CodeFiles
from gristmill.recipes.raw_object import LeftOut, RawObject
from gristmill.recipes.source import Source

pytestmark = pytest.mark.slow


def test_links_of_a_folder_tree_are_left_out(mill: Mill, tmp_path: Path) -> None:
    source = Source(name="cs", convert=CodeFiles(source="cs"))
    top = Path(mill.root, "sources/cs/raw/s/repo")
    mill.store.put("sources/cs/raw/s/repo/src/a.py", b"print('hello')\n")
    (tmp_path / "outside.py").write_text("print('outside')\n")
    for name, target in (
        ("link.py", "src/a.py"),
        ("more", "src"),
        ("out.py", tmp_path / "outside.py"),
        ("dead.py", "/nowhere"),
    ):
        (top / name).symlink_to(target)
    found = list_raw(source, mill.store, "s").entries
    assert list(found) == ["repo/link.py", "repo/more/a.py", "repo/out.py", "repo/src/a.py"]
    rows = [
        row
        for name, entry in found.items()
        for row in source.convert(RawObject(mill.store, entry.path, name, entry.size))
    ]
    assert rows[:3] == [LeftOut("link")] * 3
    assert [row.id for row in rows[3:] if isinstance(row, Document)] == ["repo/src/a.py"]
    assert scan_raw(source, mill.store).held == {}
    other = Source(name="cs", convert=lambda _: ())
    with pytest.raises(StoreError, match=r"dead\.py: the target of this link does not exist"):
        list_raw(other, mill.store, "s")


def test_a_link_with_an_archives_name_is_followed_and_fails_if_it_leads_nowhere(mill: Mill, tmp_path: Path) -> None:
    source = Source(name="cs", convert=CodeFiles(source="cs"))
    disk, top = tmp_path / "disk", Path(mill.root, "sources/cs/raw/s")
    disk.mkdir()
    with tarfile.open(disk / "x.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("empty.py"))
        member = tarfile.TarInfo("a.py")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"a = 1\n"))
    top.mkdir(parents=True)
    (top / "x.tar").symlink_to(disk / "x.tar")
    (top / "more").symlink_to(disk)
    found = list_raw(source, mill.store, "s").entries
    rows = {
        name: [getattr(row, "id", row) for row in source.convert(RawObject(mill.store, entry.path, name, entry.size))]
        for name, entry in found.items()
    }
    assert rows == {"more/x.tar": [LeftOut("link")], "x.tar": [LeftOut("empty"), "x/a.py"]}
    disk.rename(tmp_path / "away")
    with pytest.raises(StoreError, match=r"raw/s/x\.tar: the target of this link does not exist"):
        list_raw(source, mill.store, "s")
    (top / "x.tar").unlink()
    assert list_raw(source, mill.store, "s").entries == {}
