import pytest
from releasekit import write_whole
from testkit import Mill

from gristmill.errors import DataError, RecipeError
from gristmill.releases.pinned import pinned_path, read_pinned


def test_a_release_is_read_back_and_an_unknown_one_lists_those_there_are(whole: Mill) -> None:
    with pytest.raises(DataError, match=r"releases/first\.json: the lake has no such release; known: none"):
        read_pinned(whole.store, "first")
    release = write_whole(whole)
    assert read_pinned(whole.store, "first").ledgers == release.ledgers
    with pytest.raises(DataError, match="known: first"):
        read_pinned(whole.store, "second")


def test_a_damaged_release_and_a_hostile_name_are_refused(whole: Mill) -> None:
    whole.store.put("releases/bad.json", b"[1]")
    with pytest.raises(DataError, match=r"releases/bad\.json.*a release"):
        read_pinned(whole.store, "bad")
    with pytest.raises(RecipeError, match="release"):
        pinned_path("../lake")
