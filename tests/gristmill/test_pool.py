"""A process of a pool that is killed is an error in words, of a command as well: exit code 2, and no trace."""

import multiprocessing
import operator
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tarfolder import write_shards
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import StoreError
from gristmill.lake.store.plain_files import NoFile
from gristmill.pool import in_processes

WORDS = "a worker process was killed: most often for want of memory; use fewer workers, then run again"


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(in_processes([partial(operator.mul, 2, n) for n in range(3)], workers)) == [0, 2, 4]


def test_a_killed_process_is_an_error_in_words() -> None:
    works = [partial(signal.raise_signal, signal.SIGKILL), partial(signal.raise_signal, signal.SIGKILL)]
    with pytest.raises(StoreError, match=f"^{WORDS}$"):
        list(in_processes(works, 2))


def test_an_error_of_a_function_is_raised_as_it_is() -> None:
    broken = pickle.loads(pickle.dumps(NoFile("a/b", "a FIFO, not a file; remove it")))
    assert (broken.path, broken.reason, str(broken)) == (
        "a/b",
        "a FIFO, not a file; remove it",
        f"a/b: {broken.reason}",
    )
    with pytest.raises(ZeroDivisionError):
        list(in_processes([partial(operator.floordiv, 1, n) for n in range(2)], 2))


# CPython counts the processes of a broken pool while it may start one more; their results have failed by then.
RACE = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@contextmanager
def first_child_killed() -> Iterator[None]:
    """Kills the first process that this one starts."""
    ended = threading.Event()

    def kill() -> None:
        while not ended.is_set():
            for child in multiprocessing.active_children()[:1]:
                child.kill()
                return
            time.sleep(0.001)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.slow
@RACE
def test_a_lake_whose_verifier_is_killed_is_neither_proven_nor_wrong(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    with first_child_killed():
        assert main(["verify", str(whole.root), "--workers", "2"]) == 2
    assert capsys.readouterr().err == f"{WORDS}\n"


@pytest.mark.slow
@RACE
def test_a_preparation_whose_worker_is_killed_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(tmp_path)
    words = ["energon", "prepare", str(tmp_path), "--no-progress", "--split-ratio", "2,1,1", "--num-workers"]
    with first_child_killed():
        assert main([*words, "2"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == WORDS
    assert main([*words, "1"]) == 0
