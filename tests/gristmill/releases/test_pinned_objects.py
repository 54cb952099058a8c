"""A release names objects that the lake has, and that no `gc` that began before removes."""

import pytest
from releasekit import change_whole, release_of_whole, write_whole
from testkit import Mill

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Entry
from gristmill.maintenance.gc import find_unnamed, remove_unnamed
from gristmill.releases.pinned_objects import lost_object
from gristmill.releases.pinning import trainer_files, write_release


def test_a_release_whose_object_is_lost_is_not_written(whole: Mill) -> None:
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    part = next(path for path in release.objects if path.startswith("token_caches/"))
    assert lost_object(whole.store, release) == ""
    for spoil in (lambda: whole.store.put(part, b"cut"), lambda: whole.store.delete([part])):
        spoil()
        before = whole.tree()
        with pytest.raises(DataError, match=f"^{part}: a ledger names it, and the lake does not have it in its size"):
            write_release(whole.store, release, files)
        assert whole.tree() == before


@pytest.mark.parametrize("collected", [True, False])
def test_a_release_of_what_was_made_again_meanwhile_is_taken_back(
    whole: Mill, monkeypatch: pytest.MonkeyPatch, *, collected: bool
) -> None:
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    whole.store.put("blocklists/takedowns.jsonl", b"")
    put = whole.store.put

    def meanwhile(path: str, data: bytes) -> Entry:
        monkeypatch.undo()
        change_whole(whole)
        garbage = find_unnamed(whole.store, lambda _: None)
        assert garbage
        assert not collected or all(remove_unnamed(whole.store, each) for each in garbage)
        return put(path, data)

    monkeypatch.setattr(whole.store, "put", meanwhile)
    with pytest.raises(DataError, match=r"so that release was taken back; give the same command again"):
        write_release(whole.store, release, files)
    assert list(whole.store.list("releases/")) == []
    assert write_whole(whole).objects != release.objects
