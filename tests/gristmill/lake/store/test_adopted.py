from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.adopted import AdoptedFiles, Root, open_root


def test_files_are_named_by_their_whole_address_and_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123")
    files, path = AdoptedFiles(Root(str(tmp_path)), size=4), f"{tmp_path}/a"
    assert b"".join(files.stream(path)) == files.read(path) == b"0123"
    assert files.read_range(path, 1, 3) == b"12"
    entry = files.head(path)
    assert entry is not None
    assert entry.size == 4


def test_a_file_that_has_changed_its_size_or_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"012")
    files = AdoptedFiles(Root(str(tmp_path)), size=4)
    with pytest.raises(StoreError, match="changed since it was adopted: it has 3 bytes, but had 4; adopt it again"):
        files.read_range(f"{tmp_path}/a", 0, 1)
    with pytest.raises(StoreError, match="missing, or its disk is not mounted"):
        list(files.stream(f"{tmp_path}/b"))


@pytest.mark.parametrize(
    "write",
    [
        lambda files: files.put("a", b""),
        lambda files: files.put_if("a", b"", None),
        lambda files: files.upload("a"),
        lambda files: files.delete(["a"]),
        lambda files: files.list(""),
        lambda files: files.folders(""),
    ],
)
def test_nothing_is_written_or_deleted(tmp_path: Path, write: Callable[[AdoptedFiles], object]) -> None:
    (tmp_path / "a").write_bytes(b"0123")
    files = AdoptedFiles(Root(str(tmp_path)))
    with pytest.raises(StoreError, match="adopted files are only read"):
        write(files)
    files.sweep()
    assert list(files.unfinished()) == []
    assert (tmp_path / "a").read_bytes() == b"0123"


def test_missing_credentials_are_told_by_the_names_of_their_variables() -> None:
    with pytest.raises(RecipeError, match="NOBODYS_AWS_ACCESS_KEY_ID nor NOBODYS_ACCESS_KEY_ID"):
        open_root(Root("s3://theirs/dolma", {"endpoint": "http://127.0.0.1:1", "region": "x"}, credentials="NOBODYS"))
