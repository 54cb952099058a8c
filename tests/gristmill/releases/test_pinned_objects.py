"""A release names objects that the lake has, and that no `gc` that began before removes."""

import hashlib

import pytest
from releasekit import change_whole, release_of_whole, write_whole
from steered import before, before_any
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import CACHE, TOKENIZER, even, flip

from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.errors import DataError
from gristmill.formats.levanter import array_writer
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.ledger.folders.whole_folder import WRITING
from gristmill.lake.store.protocol import Entry
from gristmill.maintenance.gc import find_unnamed_parts, remove_unnamed_part
from gristmill.recipes.export import Export
from gristmill.releases.pinned import read_pinned
from gristmill.releases.pinned_objects import first_lost_object
from gristmill.releases.pinning import pinned_release, trainer_files, write_release
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.token_cache.step import TokenCacheStep

STEP = TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES)
CHANGED = 2
"""Objects of the part that another version writes: the `zarr.json` of ids and offsets."""


def upgrade(patch: pytest.MonkeyPatch) -> None:
    """Another version: it describes arrays in other bytes of the same number."""
    describe = array_writer.zarr_json

    def other(dtype: DType, **_: int) -> bytes:
        return describe(dtype, clevel=5)

    patch.setattr(array_writer, "zarr_json", other)


def others(mill: Mill, objects: dict[str, tuple[str, int]]) -> int:
    """How many objects have other bytes than named, all of the same size."""
    found = {path: mill.store.read(path) for path in objects}
    assert all(objects[path][1] == len(data) for path, data in found.items())
    return sum(objects[path][0] != hashlib.sha256(data).hexdigest() for path, data in found.items())


def test_a_release_names_no_object_that_a_run_has_replaced_and_not_committed(
    whole: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release is written by another process right before the run writes its table."""
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    seen: list[int] = []

    def meanwhile() -> None:
        seen.append(others(whole, release.objects))
        tree = whole.tree()
        with pytest.raises(
            DataError, match=r"^token_caches/even/tiny-1/pages \(2024\): is being made, or the run that"
        ):
            write_release(whole.store, release, files)
        assert whole.tree() == tree

    upgrade(monkeypatch)
    before_any(monkeypatch, "put_if", CACHE.table, meanwhile)
    whole.make(STEP, force=True)
    assert seen == [CHANGED]
    assert others(whole, write_whole(whole).objects) == 0


@pytest.mark.parametrize("killed", [False, True])
def test_a_release_is_taken_back_if_a_run_replaced_an_object_as_it_was_written(
    whole: Mill, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    """The run comes between the look at its claim and the release: it ends, or is killed before its table."""
    release = release_of_whole(whole)

    def meanwhile() -> None:
        upgrade(monkeypatch)
        if killed:
            before_any(monkeypatch, "put_if", CACHE.table, lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                whole.make(STEP, force=True)
        else:
            whole.make(STEP, force=True)
        assert others(whole, release.objects) == CHANGED

    before(whole.store, "put_if", "releases/first.json", meanwhile)
    said = r"^token_caches/.*: is being made, or the run" if killed else r"zarr\.json: was made again or removed"
    with pytest.raises(DataError, match=said):
        write_release(whole.store, release, trainer_files(whole.store, release))
    assert list(whole.store.list("releases/")) == []
    whole.make(STEP)
    assert others(whole, write_whole(whole).objects) == 0


def test_a_release_names_the_files_of_an_export_as_its_index_does_not_as_they_are(whole: Mill) -> None:
    export = Export(name="lines", mixes=("even",), format=EnergonJsonl(file_bytes=1000))
    whole.make(ExportStep(even(), "pages", export, SNAPSHOT, SHELVES))
    index_export(whole.store, even(), export, {"pages": whole.source()}, {"pages": [SNAPSHOT]})
    sound = pinned_release(whole.store, "first", "even", "tiny-1", ["lines"]).objects
    text, *lines = (path for path in sound if "/index/" in path)
    assert others(whole, {path: sound[path] for path in (text, *lines)}) == 0
    flip(whole, lines[0])
    assert pinned_release(whole.store, "first", "even", "tiny-1", ["lines"]).objects == sound
    flip(whole, text)
    with pytest.raises(DataError, match=r"/metadataset-.*yaml: is not the file that the index names; make the mix"):
        pinned_release(whole.store, "first", "even", "tiny-1", ["lines"])


def test_a_release_waits_for_a_tokenizer_that_is_being_written(whole: Mill) -> None:
    mark = f"tokenizers/tiny-1/{WRITING}"
    whole.store.put(mark, b'{"token":"another"}')
    with pytest.raises(DataError, match=r"^tokenizers/tiny-1: is being made, or the run that made it has died, so"):
        write_whole(whole)
    whole.store.delete([mark])
    write_whole(whole)


def test_a_release_whose_object_is_lost_is_not_written(whole: Mill) -> None:
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    part = next(path for path in release.objects if path.startswith("token_caches/"))
    assert first_lost_object(whole.store, release) == ""
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
        garbage = find_unnamed_parts(whole.store, lambda _: None)
        assert garbage
        assert not collected or all(remove_unnamed_part(whole.store, each) for each in garbage)
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
