"""Links in a store: nothing is written or deleted behind them, and in a lake only raw data are read there."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.errors import StoreError
from gristmill.lake.address import raw_folder
from gristmill.lake.store.disk.real_folders import RealFolders
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.plain_files import NoFile, Unlisted

RAW = raw_folder("pages", "2024")


@pytest.fixture
def raw(lake: FolderStore) -> Path:
    """The folder of a raw snapshot with an object."""
    lake.put(f"{RAW}deep/precious", b"precious")
    return Path(lake.url) / RAW


def link_to(lake: FolderStore, raw: Path, path: str) -> str:
    """Puts a link to the raw snapshot in a place, with a relative target. Returns what messages call it."""
    place = Path(lake.url) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(raw, place.parent))
    return f"^{re.escape(path)}: a link to {re.escape(str(raw.resolve()))}: "


def _upload(lake: FolderStore, path: str) -> None:
    upload = lake.upload(path)
    upload.write(b"x")
    upload.close()


CHANGES: dict[str, Callable[[FolderStore, str], object]] = {
    "put": lambda lake, path: lake.put(path, b"x"),
    "put_if": lambda lake, path: lake.put_if(path, b"x", None),
    "upload": _upload,
    "delete": lambda lake, path: lake.delete([path]),
}
READS: dict[str, Callable[[FolderStore, str], object]] = {
    "head": lambda lake, path: lake.head(path),
    "read": lambda lake, path: lake.read(path),
    "read_tagged": lambda lake, path: lake.read_tagged(path),
    "read_range": lambda lake, path: lake.read_range(path, 0, 1),
    "stream": lambda lake, path: list(lake.stream(path)),
    "list": lambda lake, path: list(lake.list(f"{path.rpartition('/')[0]}/")),
    "list above": lambda lake, _: list(lake.list("mixes/")),
    "folders": lambda lake, path: list(lake.folders(f"{path.rpartition('/')[0]}/")),
    "folders above": lambda lake, _: list(lake.folders("mixes/")),
}


@pytest.mark.parametrize("path", ["mixes/blend/deep/precious", "mixes/blend/precious", "mixes/blend/new/folder/object"])
@pytest.mark.parametrize("verb", [*CHANGES, *READS])
def test_no_verb_passes_through_a_link(lake: FolderStore, raw: Path, verb: str, path: str) -> None:
    told = link_to(lake, raw, "mixes/blend")
    with pytest.raises(NoFile, match=told):
        (CHANGES | READS)[verb](lake, path)
    assert (raw / "deep" / "precious").read_bytes() == b"precious"
    assert [path.name for path in raw.rglob("*")] == ["deep", "precious"]
    assert list((Path(lake.url) / ".incoming").glob("*")) == []


@pytest.mark.parametrize("verb", CHANGES)
def test_a_link_that_came_after_an_act_is_found_at_the_next_one(lake: FolderStore, raw: Path, verb: str) -> None:
    lake.put("mixes/blend/deep/other", b"1")
    lake.delete(["mixes/blend/deep/other"])
    told = link_to(lake, raw, "mixes/blend")
    with pytest.raises(NoFile, match=told):
        CHANGES[verb](lake, "mixes/blend/deep/precious")
    assert (raw / "deep" / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize("verb", ["put", "delete"])
def test_a_link_that_comes_in_the_middle_of_an_act_leads_it_nowhere(
    lake: FolderStore, raw: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The folder is moved away, and a link takes its place, at the last moment: after it was looked at."""
    lake.put("mixes/blend/precious", b"ours")
    (raw / "precious").write_bytes(b"precious")
    folder, away = Path(lake.url) / "mixes" / "blend", Path(lake.url) / "mixes" / "away"
    name = {"put": "rename", "delete": "unlink"}[verb]
    real = getattr(os, name)

    def late(*arguments: str, **descriptors: int) -> None:
        folder.replace(away)
        folder.symlink_to(raw)
        real(*arguments, **descriptors)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, late)
        CHANGES[verb](lake, "mixes/blend/precious")
    assert (raw / "precious").read_bytes() == b"precious"
    assert [path.read_bytes() for path in away.glob("*")] == {"put": [b"x"], "delete": []}[verb]


def test_raw_data_are_read_through_links_and_nothing_else_is(lake: FolderStore, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    for path in ("one/a", "two/b", "all/s/c", "file"):
        (disk / path).parent.mkdir(parents=True, exist_ok=True)
        (disk / path).write_bytes(path.encode())
    raw = Path(lake.url) / raw_folder("pages")
    raw.mkdir(parents=True)
    (raw / "one").symlink_to(disk / "one")
    (raw / "two").mkdir()
    (raw / "two" / "deep").symlink_to(os.path.relpath(disk / "two", raw / "two"))
    (raw / "two" / "file").symlink_to(disk / "file")
    (Path(lake.url) / "sources" / "books").mkdir()
    (Path(lake.url) / "sources" / "books" / "raw").symlink_to(disk / "all")
    found = [entry.path for entry in lake.list("")]
    top = raw_folder("pages")
    assert found == ["sources/books/raw/s/c", f"{top}one/a", f"{top}two/deep/b", f"{top}two/file"]
    assert [lake.read(path) for path in found] == [b"all/s/c", b"one/a", b"two/b", b"file"]
    assert [entry.path if entry else None for entry in map(lake.head, found)] == found
    assert list(lake.folders(top)) == [f"{top}one/", f"{top}two/"]
    for path in [path for path in found if not path.endswith("/file")]:
        with pytest.raises(NoFile, match="nothing is written or deleted behind it"):
            lake.put(path, b"x")
    (Path(lake.url) / "sources" / "more").symlink_to(Path(lake.url) / "sources" / "pages")
    with pytest.raises(
        NoFile, match=r"^sources/more: a link to .*/sources/pages: .* only raw data are read through links"
    ):
        lake.read("sources/more/raw/one/a")


def test_files_of_others_are_read_through_all_links_and_written_through_none(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "a").write_bytes(b"1")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "documents").symlink_to("../disk")
    (tmp_path / "here" / "b").symlink_to("../disk/a")
    store = FolderStore(str(tmp_path / "here"), foreign=True)
    assert [entry.path for entry in store.list("")] == ["b", "documents/a"]
    assert [store.read(path) for path in ("b", "documents/a")] == [b"1", b"1"]
    with pytest.raises(NoFile, match=r"^documents: a link to .*/disk: nothing is written or deleted behind it\."):
        store.put("documents/a", b"2")
    store.put("b", b"2")
    assert (tmp_path / "disk" / "a").read_bytes() == b"1"


def test_who_asks_for_what_is_left_out_is_told_of_links(lake: FolderStore, raw: Path, tmp_path: Path) -> None:
    link_to(lake, raw, "mixes/blend")
    (Path(lake.url) / "mixes" / "gone").symlink_to(tmp_path / "gone")
    for prefix, links in {"": ["mixes/blend", "mixes/gone"], "mixes/blend/deep/": ["mixes/blend"]}.items():
        told: list[Unlisted] = []
        list(lake.list(prefix, "", told.append))
        assert [(each.path, each.hides) for each in told] == [(path, True) for path in links]
        assert all(each.reason.startswith("a link to ") for each in told)


@pytest.mark.parametrize("name", [".incoming", ".lock"])
def test_the_stores_own_files_are_no_links(lake: FolderStore, raw: Path, name: str) -> None:
    target = raw if name == ".incoming" else raw / "deep" / "precious"
    lake.sweep()
    told = link_to(lake, target, name)
    acts: list[Callable[[], object]] = [lambda: lake.put_if("a", b"1", None)]
    acts += [lake.sweep, lambda: lake.put("a", b"1")] if name == ".incoming" else []
    for act in acts:
        with pytest.raises(NoFile, match=told):
            act()
    assert (raw / "deep" / "precious").read_bytes() == b"precious"
    assert sorted(path.name for path in raw.rglob("*")) == ["deep", "precious"]


def test_a_lake_behind_a_link_is_a_lake(lake: FolderStore, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(lake.url)
    (tmp_path / "above").symlink_to(tmp_path)
    for root in (tmp_path / "link", tmp_path / "above" / "lake"):
        store = FolderStore(str(root))
        store.put("c/d/b", b"2")
        store.put_if("c/b", b"2", None)
        assert [entry.path for entry in store.list("c/")] == ["c/b", "c/d/b"]
        store.sweep()
        store.delete(["c/b", "c/d/b"])
        assert [entry.path for entry in store.list("")] == [f"{RAW}deep/precious"]
    told = link_to(lake, raw, "mixes")
    with pytest.raises(NoFile, match=told):
        FolderStore(str(tmp_path / "link")).put("mixes/deep/precious", b"x")


def test_a_file_that_is_a_link_is_replaced_or_removed_itself_and_not_read(lake: FolderStore, raw: Path) -> None:
    lake.put("a/b", b"1")
    told = [link_to(lake, raw / "deep" / "precious", f"a/{name}") for name in ("c", "d")]
    with pytest.raises(NoFile, match=told[0]):
        lake.read("a/c")
    with pytest.raises(NoFile, match=told[1]):
        lake.put_if("a/d", b"2", None)
    lake.put("a/c", b"2")
    lake.delete(["a/d"])
    assert (lake.read("a/c"), lake.head("a/d")) == (b"2", None)
    assert (raw / "deep" / "precious").read_bytes() == b"precious"


def test_objects_of_several_folders_are_deleted_and_those_that_are_missing_passed_over(lake: FolderStore) -> None:
    paths = [f"a/{number % 2}/{number}" for number in range(6)]
    for path in paths:
        lake.put(path, b"1")
    lake.delete(["a/nowhere/x", *paths, "b/nowhere"])
    assert [path.name for path in Path(lake.url).iterdir()] == [".incoming"]


def test_what_is_no_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    folders = RealFolders(str(tmp_path), foreign=False)
    (tmp_path / "file").write_bytes(b"")
    for path, error in {"file": NotADirectoryError, "file/a": NotADirectoryError, "gone/a": FileNotFoundError}.items():
        with pytest.raises(error), folders.open_folder(path):
            pass
    with folders.open_folder("made/at/once", make=True) as opened:
        assert os.path.samestat(os.fstat(opened), (tmp_path / "made" / "at" / "once").stat())
    with pytest.raises(StoreError, match=f"^file/a: {tmp_path}/file: Not a directory"):
        FolderStore(str(tmp_path)).put("file/a", b"1")
