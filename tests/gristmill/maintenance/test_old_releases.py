"""Old releases of an export, and an index that is written again while gc removes one."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from exported import INDEX, close, export, mix_of, release_of, released, start
from msgspec.structs import asdict
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.__main__ import main
from gristmill.errors import AtWork, StoreError
from gristmill.execution.claim import Claim
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.folder import FolderStore
from gristmill.maintenance.old_releases import find_old_releases, remove_old_release
from gristmill.process import this_process
from gristmill.stages.export.release import WRITING
from gristmill.stages.mixing.step import stream_step

RAW = "sources/pages/raw/2024/b.jsonl.gz"


def slices(mill: Mill) -> None:
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    export(mill)


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """A lake whose index names a second release, and whose slices are those of the first one again."""
    mill = start(tmp_path / "lake")
    raw = mill.store.read(RAW)
    slices(mill)
    close(mill)
    mill.raw("b.jsonl.gz", [{"id": "doc-other", "text": "other", "source": "pages", "metadata": {"language": "en"}}])
    slices(mill)
    close(mill)
    mill.store.put(RAW, raw)
    slices(mill)
    return mill


class Late(FolderStore):
    """A lake in which the deletion of a release comes late: an index is faster."""

    def __init__(self, mill: Mill, *, asks: bool) -> None:
        super().__init__(mill.lake.url)
        self._mill, self._asks = mill, asks

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        paths = list(paths)
        if any("/release-" in path for path in paths):
            if not self._asks:
                self._mill.store.delete([f"{INDEX}/{WRITING}"])
                close(self._mill)
            else:
                with pytest.raises(AtWork, match=rf"^{INDEX}: gc \(process "):
                    close(self._mill)
        super().delete(paths, still)


def test_an_index_is_not_written_while_gc_removes_a_release_of_it(mill: Mill) -> None:
    second = release_of(mill).folder
    (first,) = find_old_releases(mill.store, mill.said.append)
    assert remove_old_release(Late(mill, asks=True), first)
    assert release_of(mill).folder == second
    close(mill)
    assert release_of(mill).folder == first.folder
    assert sorted(first.folder + path for path in released(mill)) == sorted(entry.path for entry in first.entries)
    assert mill.store.head(f"{INDEX}/{WRITING}") is None


def test_gc_tells_that_an_index_was_written_by_who_does_not_ask(mill: Mill) -> None:
    (first,) = find_old_releases(mill.store, mill.said.append)
    with pytest.raises(StoreError, match=f"^{first.folder}.*: others began to use it while it was removed"):
        remove_old_release(Late(mill, asks=False), first)
    assert release_of(mill).folder == first.folder
    assert sorted(first.folder + path for path in released(mill)) == sorted(entry.path for entry in first.entries)


def test_a_release_that_is_being_written_or_is_current_again_is_kept(mill: Mill) -> None:
    (first,) = find_old_releases(mill.store, mill.said.append)
    mill.store.put(f"{INDEX}/{WRITING}", b"{}")
    assert not remove_old_release(mill.store, first)
    other = Claim(**asdict(this_process()), token="gc-1", work="gc")
    mill.store.put(f"{INDEX}/{WRITING}", as_json(other))
    assert not remove_old_release(mill.store, first)
    mill.store.put(f"{INDEX}/{WRITING}", b"{}")
    close(mill)
    assert not remove_old_release(mill.store, first)
    assert released(mill)


def pin(mill: Mill, folder: str) -> None:
    """Another command writes a release of the lake that has a release of the export."""
    mill.store.put("releases/spring.json", as_json({"objects": [f"{folder}x.jsonl.gz"]}))


def test_a_release_that_a_release_of_the_lake_names_since_is_kept(mill: Mill) -> None:
    (first,) = find_old_releases(mill.store, mill.said.append)
    pin(mill, first.folder)
    assert not remove_old_release(mill.store, first)
    assert mill.store.head(first.entries[0].path) is not None


def test_gc_tells_of_a_release_that_was_named_while_it_was_removed(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (first,) = find_old_releases(mill.store, mill.said.append)
    delete = FolderStore.delete

    def late(self: FolderStore, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        paths = list(paths)
        if any(path.startswith(first.folder) for path in paths):
            pin(mill, first.folder)
        delete(self, paths, still)

    monkeypatch.setattr(FolderStore, "delete", late)
    assert main(["gc", str(mill.root)]) == 2
    told = f"{first.folder}: an index or a release that was written while gc removed this names it"
    assert told in capsys.readouterr().err
