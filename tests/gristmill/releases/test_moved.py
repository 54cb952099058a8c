import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from releasekit import change_whole, write_whole
from testkit import Mill
from wholelake import flip

from gristmill.__main__ import main
from gristmill.errors import DataError
from gristmill.lake.ledger.files import as_json
from gristmill.releases.moved import redirect_release
from gristmill.releases.pinned import read_pinned
from gristmill.verification.lake_file import release_findings

FILES = ("releases/first/cache_catalog.json", "releases/first/data.yaml")
WORDS = ("even", "tiny-1", ())


@pytest.fixture
def moved(whole: Mill, tmp_path: Path) -> Mill:
    """A copy of a lake that had a release, and whose mix has changed since; the lake itself is gone."""
    write_whole(whole)
    change_whole(whole)
    return Mill(Path(shutil.move(whole.root, tmp_path / 'a "new" place')))


def test_the_same_words_direct_a_release_to_a_moved_lake_whose_mix_has_grown(
    whole: Mill, moved: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(release_findings(moved.store, moved.said.append)) == []
    assert [f"{path}: a trainer" in note for path, note in zip(FILES, moved.said, strict=False)] == [True, True]
    before = {path: data for path, data in moved.tree().items() if path not in FILES}
    words = ["release", str(moved.root), "even", "tiny-1", "first", "--shelves", "gristmill,testshelf"]
    assert main(words) == 0
    assert f"directed to this one: {', '.join(FILES)}\n" in capsys.readouterr().out
    assert {path: data for path, data in moved.tree().items() if path not in FILES} == before
    for path in FILES:
        assert str(whole.root).encode() not in moved.store.read(path)
    moved.said.clear()
    assert list(release_findings(moved.store, moved.said.append)) == []
    assert [note for note in moved.said if "not proven" not in note] == []
    assert redirect_release(moved.store, "first", *WORDS) == ()


def test_a_killed_run_is_continued(moved: Mill) -> None:
    kept = moved.store.read(FILES[1])
    assert redirect_release(moved.store, "first", *WORDS) == FILES
    whole = moved.tree()
    moved.store.put(FILES[1], kept)
    assert redirect_release(moved.store, "first", *WORDS) == FILES[1:]
    assert moved.tree() == whole


def test_a_lake_that_lacks_an_object_of_the_release_or_whose_release_was_edited_is_not_read(moved: Mill) -> None:
    path = next(each for each in read_pinned(moved.store, "first").objects if each.startswith("token_caches/"))
    kept = moved.store.read(path)
    moved.store.put(path, kept[:-1])
    before = moved.tree()
    with pytest.raises(DataError, match=f"^{path}: releases/first.json names it with {len(kept):,} bytes, and this"):
        redirect_release(moved.store, "first", *WORDS)
    assert moved.tree() == before
    moved.store.put(path, kept)
    moved.store.put("releases/first.json", as_json(replace(read_pinned(moved.store, "first"), objects={})))
    with pytest.raises(DataError, match=r"^releases/first\.json: it was edited"):
        redirect_release(moved.store, "first", *WORDS)


@pytest.mark.parametrize("words", [("odd", "tiny-1", ()), ("even", "tiny-2", ()), ("even", "tiny-1", ("energon",))])
def test_other_words_and_files_that_are_not_those_of_the_release_direct_nothing(
    moved: Mill, words: tuple[str, str, tuple[str, ...]]
) -> None:
    before = moved.tree()
    assert redirect_release(moved.store, "first", *words) == ()
    assert redirect_release(moved.store, "second", *WORDS) == ()
    assert moved.tree() == before
    flip(moved, FILES[1], at=-5)
    assert redirect_release(moved.store, "first", *WORDS) == ()
    moved.store.delete([FILES[1]])
    assert redirect_release(moved.store, "first", *WORDS) == ()
