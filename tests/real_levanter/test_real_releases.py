"""The real trainer reads a release in a moved lake whose mix has changed since."""

import shutil
from pathlib import Path

import pytest
from peer import Ask
from releasekit import change_whole, write_whole
from testkit import Mill
from wholelake import make_whole

from gristmill.releases.moved import redirect_release

DATA = "releases/first/data.yaml"


@pytest.mark.slow
def test_a_release_that_was_directed_to_a_moved_lake_gives_the_sequences_that_it_gave(
    levanter: Ask, tmp_path: Path
) -> None:
    def sequences(mill: Mill, path: str) -> object:
        config = mill.store.read(path).decode()
        (found,) = levanter({"do": "mixed", "config": config, "length": 40, "count": 8})
        assert found["warnings"] == []
        return found["sequences"]

    whole = make_whole(tmp_path / "lake")
    write_whole(whole)
    before = sequences(whole, DATA)
    change_whole(whole)
    moved = Mill(Path(shutil.move(whole.root, tmp_path / "moved")))
    assert redirect_release(moved.store, "first", "even", "tiny-1", ()) == ("releases/first/cache_catalog.json", DATA)
    assert sequences(moved, DATA) == before
