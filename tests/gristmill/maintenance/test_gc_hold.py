"""What gc holds while it deletes: who waits for it, who takes it over, and what it says if another did."""

import errno
from pathlib import Path

import msgspec
import pytest

from gristmill.errors import AtWork, Conflict, StoreError
from gristmill.execution.claim import Claim, Claimant, claim_token, has_leftovers, is_claimed_by_run, write_claim
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.disk.os_errors import raise_store_errors
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry
from gristmill.maintenance.gc_hold import held_by_gc, let_go_of_left
from gristmill.process import Process, this_process

PAGES = place(documents_asset("pages", "v0"), "2024")
HERE = this_process()
DEAD = msgspec.structs.replace(HERE, started="1")
FAR = msgspec.structs.replace(HERE, host="far")


@pytest.fixture
def lake(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path))


def is_free() -> bool:
    return True


def leave(lake: FolderStore, process: Process) -> None:
    """The claim of a gc of this process."""
    claim = Claim(**msgspec.structs.asdict(process), token="gc-1", work="gc")
    lake.put(PAGES.claim_path, as_json(claim))


RUNS = {
    "Dagster": None,
    "make": Claimant(HERE),
    "make --take-over": Claimant(HERE, takes_over=True),
}


@pytest.mark.parametrize("run", RUNS)
def test_every_run_leaves_a_place_to_a_gc_that_runs(lake: FolderStore, run: str) -> None:
    with held_by_gc(lake, PAGES.claim_path, "pages", is_free) as held:
        assert held
        words = rf"\(2024\): gc \(process {HERE.pid} on .*\) has been removing .* there since 20.* Wait until it ends$"
        with pytest.raises(AtWork, match=words):
            write_claim(lake, PAGES, "mine", RUNS[run])
        assert not is_claimed_by_run(lake, PAGES.claim_path)
    write_claim(lake, PAGES, "mine", RUNS[run])
    assert claim_token(lake, PAGES) == "mine"
    assert is_claimed_by_run(lake, PAGES.claim_path)


@pytest.mark.parametrize("run", RUNS)
def test_every_run_takes_the_claim_of_a_gc_that_was_killed(lake: FolderStore, run: str) -> None:
    leave(lake, DEAD)
    assert has_leftovers(lake, PAGES)
    write_claim(lake, PAGES, "mine", RUNS[run])
    assert claim_token(lake, PAGES) == "mine"


def test_a_gc_of_another_machine_is_waited_for_until_the_next_gc(lake: FolderStore) -> None:
    leave(lake, FAR)
    for run in ("Dagster", "make"):
        with pytest.raises(AtWork, match="whether it still runs: if not, run `gristmill gc` again"):
            write_claim(lake, PAGES, "mine", RUNS[run])
    write_claim(lake, PAGES, "mine", RUNS["make --take-over"])
    assert claim_token(lake, PAGES) == "mine"
    leave(lake, FAR)
    let_go_of_left(lake, PAGES.claim_path, "pages")
    assert lake.head(PAGES.claim_path) is None


@pytest.mark.parametrize("holder", ["a run", "a run that was killed", "a gc"])
def test_gc_leaves_a_place_that_another_holds(lake: FolderStore, holder: str) -> None:
    if holder == "a gc":
        leave(lake, HERE)
    else:
        write_claim(lake, PAGES, "first", Claimant(HERE if holder == "a run" else DEAD))
    before = lake.read(PAGES.claim_path)
    with held_by_gc(lake, PAGES.claim_path, "pages", is_free) as held:
        assert not held
    let_go_of_left(lake, PAGES.claim_path, "pages")
    assert lake.read(PAGES.claim_path) == before


def test_of_gc_and_a_run_of_dagster_at_the_same_moment_one_gets_the_claim(lake: FolderStore) -> None:
    class Late(FolderStore):
        """gc claims the place right after a run has looked."""

        def read_tagged(self, path: str) -> tuple[bytes, str] | None:
            found = super().read_tagged(path)
            if found is None:
                leave(lake, HERE)
            return found

    with pytest.raises(AtWork):
        write_claim(Late(lake.url), PAGES, "run-0")
    assert claim_token(lake, PAGES) == "gc-1"


def test_gc_that_was_taken_over_while_it_deleted_does_not_end_well(lake: FolderStore) -> None:
    words = "pages: another process took it over while .* run gristmill make, then"
    with pytest.raises(StoreError, match=words), held_by_gc(lake, PAGES.claim_path, "pages", is_free):
        lake.put(PAGES.claim_path, b'{"token":"an older Gristmill"}')
    assert claim_token(lake, PAGES) == "an older Gristmill"


def test_gc_that_fails_lets_go(lake: FolderStore) -> None:
    with pytest.raises(StoreError, match="the lake is gone"), held_by_gc(lake, PAGES.claim_path, "pages", is_free):
        raise StoreError("the lake is gone")
    assert lake.head(PAGES.claim_path) is None


class FullStore(FolderStore):
    """A lake on a disk that is full: every write fails."""

    def put_if(self, path: str, data: bytes, etag: str | None, like: OldFile | None = None) -> Entry:  # noqa: ARG002
        with raise_store_errors(path):
            raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_holds_nothing_but_lets_gc_delete_what_is_free(tmp_path: Path) -> None:
    full, run = FullStore(str(tmp_path)), FolderStore(str(tmp_path))
    for name in "abc":
        run.put(f"old/{name}", b"x")
    free = [True]
    with held_by_gc(full, PAGES.claim_path, "pages", lambda: free[0]) as held:
        full.delete(["old/a"], held)
        free[0] = False  # the ledger names it now
        with pytest.raises(Conflict, match="old/b: others began to use it"):
            full.delete(["old/b"], held)
        free[0] = True
        write_claim(run, PAGES, "mine")  # others freed some space, so a run begins
        with pytest.raises(Conflict, match="old/b"):
            full.delete(["old/b"], held)
    assert [entry.path for entry in run.list("old/")] == ["old/b", "old/c"]
    assert claim_token(run, PAGES) == "mine"
    with held_by_gc(full, PAGES.claim_path, "pages", is_free) as held:
        assert held is None
    leave(run, DEAD)
    with held_by_gc(full, PAGES.claim_path, "pages", is_free) as held:  # that of a gc that was killed
        full.delete(["old/b"], held)
    with held_by_gc(full, PAGES.claim_path, "pages", lambda: False) as held:
        assert held is None


def test_another_error_of_the_store_is_no_full_disk(tmp_path: Path) -> None:
    class Broken(FolderStore):
        def put_if(self, path: str, data: bytes, etag: str | None, like: OldFile | None = None) -> Entry:  # noqa: ARG002
            with raise_store_errors(path):
                raise OSError(errno.EROFS, "Read-only file system")

    with (
        pytest.raises(StoreError, match="mount the lake's folder writable"),
        held_by_gc(Broken(str(tmp_path)), PAGES.claim_path, "pages", is_free),
    ):
        pass
