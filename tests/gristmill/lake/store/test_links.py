"""Links in the folder of a lake: read through, but never written or deleted through."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.folder import FolderStore


@pytest.fixture
def outside(lake: FolderStore, tmp_path: Path) -> Path:
    """A folder with a file, beside the lake; `mixes/blend` in the lake is a link to it."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "precious").write_bytes(b"precious")
    (Path(lake.url) / "mixes").mkdir()
    (Path(lake.url) / "mixes" / "blend").symlink_to(folder)
    return folder


def _upload(lake: FolderStore, path: str) -> None:
    upload = lake.upload(path)
    upload.write(b"x")
    upload.close()


CHANGES: dict[str, Callable[[FolderStore, str], object]] = {
    "put": lambda lake, path: lake.put(path, b"x"),
    "upload": _upload,
    "delete": lambda lake, path: lake.delete([path]),
}


@pytest.mark.parametrize("path", ["mixes/blend/deep/precious", "mixes/blend/precious", "mixes/blend/new/folder/object"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_nothing_outside_is_changed(
    lake: FolderStore, outside: Path, change: Callable[[FolderStore, str], object], path: str
) -> None:
    before = {each: each.read_bytes() for each in outside.rglob("*") if each.is_file()}
    with pytest.raises(StoreError, match="a link leads out of the lake"):
        change(lake, path)
    assert {each: each.read_bytes() for each in outside.rglob("*") if each.is_file()} == before
    assert list(lake.list(".incoming/")) == []


def test_objects_are_read_through_a_link(lake: FolderStore, outside: Path) -> None:
    assert [entry.path for entry in lake.list("mixes/")] == ["mixes/blend/deep/precious"]
    assert lake.read("mixes/blend/deep/precious") == (outside / "deep" / "precious").read_bytes()


def test_a_link_that_stays_in_the_lake_and_a_lake_behind_a_link_are_written(lake: FolderStore, tmp_path: Path) -> None:
    lake.put("a/b", b"1")
    (Path(lake.url) / "c").symlink_to(Path(lake.url) / "a")
    (tmp_path / "link").symlink_to(lake.url)
    for store in (lake, FolderStore(str(tmp_path / "link"))):
        store.put("c/b", b"2")
        store.delete(["c/b"])
        store.put("a/b", b"1")


def test_a_file_that_is_a_link_is_replaced_or_removed_itself(lake: FolderStore, outside: Path) -> None:
    lake.put("a/b", b"1")
    for name in ("c", "d"):
        (Path(lake.url) / "a" / name).symlink_to(outside / "deep" / "precious")
    lake.put("a/c", b"2")
    lake.delete(["a/d"])
    assert (lake.read("a/c"), lake.head("a/d")) == (b"2", None)
    assert (outside / "deep" / "precious").read_bytes() == b"precious"
