"""A view reads what is below its root, and nothing else."""

from pathlib import Path

import pytest

from gristmill.energon.preparing.metadataset.view import ViewedFolder, export_root, folder_below, path_below_root
from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.open import Lake


@pytest.mark.parametrize(
    "name",
    ["../../a.tar", "/a.tar", "x/../a.tar", "../x/../../a.tar", "./a.tar", "..", "../", "a//b.tar", "a\\b.tar", ""],
)
def test_a_name_that_leads_out_of_the_root_or_winds_is_refused(name: str) -> None:
    with pytest.raises(StoreError):
        path_below_root("index", name)


def test_the_files_of_the_root_are_read_by_climbing_names(tmp_path: Path) -> None:
    (tmp_path / "root" / "index").mkdir(parents=True)
    (tmp_path / "root" / "a.tar").write_bytes(b"12345")
    (tmp_path / "root" / "index" / "info").write_bytes(b"67")
    (tmp_path / "secret").write_bytes(b"no")
    store = ViewedFolder(Lake(str(tmp_path / "root")), "index").store()
    assert store.read("../a.tar") == b"12345"
    assert store.read_range("../a.tar", 1, 3) == b"23"
    assert b"".join(store.stream("../a.tar", start=3)) == b"45"
    entry = store.head("../a.tar")
    assert entry is not None
    assert (entry.path, entry.size) == ("../a.tar", 5)
    assert [each.path for each in store.list("")] == ["info"]
    assert store.read_tagged("../b.tar") is None
    with pytest.raises(StoreError, match="leads out of the folder that may be read"):
        store.read("../../secret")


def test_nothing_is_written_through_a_view(tmp_path: Path) -> None:
    store = ViewedFolder(Lake(str(tmp_path)), "").store()
    for write in (
        lambda: store.put("a", b""),
        lambda: store.put_if("a", b"", None),
        lambda: store.upload("a"),
        lambda: store.delete(["a"]),
    ):
        with pytest.raises(StoreError, match="this folder is only read"):
            write()
    store.sweep()
    assert list(tmp_path.iterdir()) == []


def test_only_a_folder_that_an_export_has_written_is_one_of_an_export(tmp_path: Path) -> None:
    index = tmp_path / "export" / "index"
    (index / "release-1f").mkdir(parents=True)
    assert export_root(Lake(str(index))) is None
    (index / "release.json").touch()
    for folder in (index, index / "release-1f"):
        root = export_root(Lake(str(folder)))
        assert root is not None
        assert root.url == str(tmp_path / "export")
    assert export_root(Lake(str(index / "release-x"))) is None
    assert export_root(Lake(str(tmp_path / "export"))) is None


def test_a_folder_beside_the_root_is_not_below_it() -> None:
    with pytest.raises(RecipeError, match="/lake-2: it is not below --root /lake"):
        folder_below(Lake("/lake"), "/lake-2")
