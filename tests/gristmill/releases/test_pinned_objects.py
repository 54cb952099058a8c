"""A release names objects that the lake has, and that no `gc` that began before removes."""

import hashlib

import pytest
from releasekit import change_whole, release_of_whole, write_whole
from testkit import Mill

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Entry
from gristmill.maintenance.gc import find_unnamed, remove_unnamed
from gristmill.releases.pinned import read_pinned
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
    put = whole.store.put_if

    def meanwhile(path: str, data: bytes, etag: str | None) -> Entry:
        monkeypatch.undo()
        change_whole(whole)
        garbage = find_unnamed(whole.store, lambda _: None)
        assert garbage
        assert not collected or all(remove_unnamed(whole.store, each) for each in garbage)
        return put(path, data, etag)

    monkeypatch.setattr(whole.store, "put_if", meanwhile)
    with pytest.raises(DataError, match=r"so that release was taken back; give the same command again"):
        write_release(whole.store, release, files)
    assert list(whole.store.list("releases/")) == []
    assert write_whole(whole).objects != release.objects


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("act", ["put", "put_if"])
def test_of_two_runs_that_write_one_name_the_files_are_those_of_the_first(
    whole: Mill, monkeypatch: pytest.MonkeyPatch, act: str, *, same: bool
) -> None:
    """The other run, whose card may have other words, writes the whole release before an act of this one."""
    release = release_of_whole(whole)
    card = "releases/first/card.md"
    ours, theirs = {card: b"one"}, {card: b"one" if same else b"two"}
    act_of_store = getattr(whole.store, act)

    def meanwhile(*arguments: object) -> Entry:
        monkeypatch.undo()
        try:
            write_release(whole.store, release, theirs)
        except DataError:
            assert act == "put"  # this run has the name already
        done: Entry = act_of_store(*arguments)
        return done

    monkeypatch.setattr(whole.store, act, meanwhile)
    if act == "put" or same:
        write_release(whole.store, release, ours)
    else:
        with pytest.raises(DataError, match=r"^releases/first.json: a release never changes"):
            write_release(whole.store, release, ours)
    assert whole.store.read(card) == (ours if act == "put" else theirs)[card]
    assert read_pinned(whole.store, "first").files[card] == hashlib.sha256(whole.store.read(card)).hexdigest()
