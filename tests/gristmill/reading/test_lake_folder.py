"""A folder that is no lake is named when it is opened, not when something is missing in it."""

from pathlib import Path

import pytest
from testkit import Mill

from gristmill.api import open_lake
from gristmill.errors import RecipeError


def test_a_folder_that_is_not_there_or_has_other_things_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"/lkae: no lake: there is no such folder; make it, if it is to become one"):
        open_lake(tmp_path / "lkae")
    assert not (tmp_path / "lkae").exists()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(RecipeError, match=r"no lake: it has neither raw data nor ledgers; name the folder that has"):
        open_lake(tmp_path)
    with pytest.raises(RecipeError, match="there is no such folder"):
        open_lake(tmp_path / "notes.txt")


def test_the_folder_above_a_lake_is_told_the_way(tmp_path: Path) -> None:
    (tmp_path / "mill" / "lake" / "sources").mkdir(parents=True)
    (tmp_path / "mill" / "pyproject.toml").touch()
    with pytest.raises(RecipeError, match=r"it is .*/mill/lake, perhaps"):
        open_lake(tmp_path / "mill")


def test_lakes_empty_folders_and_buckets_are_opened(mill: Mill, tmp_path: Path) -> None:
    mill.raw_shards(1)
    new = tmp_path / "new"
    new.mkdir()
    (new / ".gitkeep").touch()
    assert [open_lake(each).url for each in (mill.root, new, "s3://nowhere/lake")] == [
        str(mill.root),
        str(new),
        "s3://nowhere/lake",
    ]
