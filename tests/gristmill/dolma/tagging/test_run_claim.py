"""Two runs on one folder: what the second one does while the first lives, and after it has died."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gristmill.dolma.tagging.records import open_output_folder
from gristmill.dolma.tagging.run_claim import RUNS, RunClaim, claim_folder_for_process
from gristmill.errors import AtWork, DataError
from gristmill.lake.store.protocol import Store
from gristmill.process import Process, this_process

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_output_folder(str(tmp_path), {})


@pytest.fixture
def other() -> Iterator[Process]:
    """A process that lives as long as the test."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield msgspec.structs.replace(this_process(), pid=str(child.pid), started="")


def write(store: Store, process: Process, settings: str = "a", *, alone: bool = False) -> None:
    store.put(f"{RUNS}other.json", msgspec.json.encode(RunClaim(process, settings, alone)))


def claims(store: Store) -> list[str]:
    return [entry.path for entry in store.list(RUNS)]


@pytest.mark.parametrize(("settings", "theirs", "ours"), [("b", "", ""), ("a", "alone", ""), ("a", "", "alone")])
def test_a_run_that_lives_keeps_others_out(store: Store, other: Process, settings: str, theirs: str, ours: str) -> None:
    write(store, other, settings, alone=bool(theirs))
    with pytest.raises(AtWork, match=rf"process {other.pid} on .* writes here since .*; wait until it has ended, or"):
        claim_folder_for_process(store, "a", alone=bool(ours))
    assert claims(store) == [f"{RUNS}other.json"]


def test_runs_that_make_the_same_bytes_may_work_at_once(store: Store, other: Process) -> None:
    write(store, other)
    path = claim_folder_for_process(store, "a", alone=False)
    assert claims(store) == sorted([path, f"{RUNS}other.json"])


def test_a_claim_of_a_dead_process_goes_and_so_does_an_earlier_one_of_this_process(store: Store) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        dead = msgspec.structs.replace(this_process(), pid=str(child.pid), started="")
    write(store, dead, "b", alone=True)
    before = claim_folder_for_process(store, "c", alone=True)
    assert claims(store) == [before]
    path = claim_folder_for_process(store, "a", alone=True)
    assert path != before
    assert claims(store) == [path]


def test_of_a_process_of_another_machine_nobody_knows_whether_it_runs(store: Store, other: Process) -> None:
    write(store, msgspec.structs.replace(other, host="mill-2"), alone=True)
    with pytest.raises(AtWork, match=rf"on mill-2 writes here .* if it does not, remove .*/{RUNS}other.json"):
        claim_folder_for_process(store, "a", alone=True)


def test_a_claim_that_is_none_is_named(store: Store) -> None:
    store.put(f"{RUNS}other.json", b"{")
    with pytest.raises(DataError, match=rf"{RUNS}other.json: .*remove it if no run goes on"):
        claim_folder_for_process(store, "a", alone=True)
