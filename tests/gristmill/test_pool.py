"""A process of a pool that is killed is an error in words, of a command as well: exit code 2, and no trace."""

import errno
import multiprocessing
import multiprocessing.util
import operator
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tarfolder import write_shards
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import StoreError
from gristmill.lake.store.plain_files import NoFile
from gristmill.pool import run_in_processes

WORDS = "a worker process was killed: most often for want of memory; use fewer workers, then run again"


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(run_in_processes([partial(operator.mul, 2, n) for n in range(3)], workers)) == [0, 2, 4]


def test_a_killed_process_is_an_error_in_words() -> None:
    works = [partial(signal.raise_signal, signal.SIGKILL), partial(signal.raise_signal, signal.SIGKILL)]
    with pytest.raises(StoreError, match=f"^{WORDS}$"):
        list(run_in_processes(works, 2))


def test_an_error_of_a_function_is_raised_as_it_is() -> None:
    broken = pickle.loads(pickle.dumps(NoFile("a/b", "a FIFO, not a file; remove it")))
    assert (broken.path, broken.reason, str(broken)) == (
        "a/b",
        "a FIFO, not a file; remove it",
        f"a/b: {broken.reason}",
    )
    with pytest.raises(ZeroDivisionError):
        list(run_in_processes([partial(operator.floordiv, 1, n) for n in range(2)], 2))


# CPython counts the processes of a broken pool while it may start one more; their results have failed by then.
RACE = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@contextmanager
def first_child_killed() -> Iterator[None]:
    """Kills the first process that this one starts."""
    before, ended = set(multiprocessing.active_children()), threading.Event()  # of another test, and not dead yet

    def kill() -> None:
        while not ended.is_set():
            for child in set(multiprocessing.active_children()) - before:
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


@RACE
@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad value(s) in fds_to_keep"),
        OSError("handle is closed"),
        OSError(errno.EBADF, "Bad file descriptor"),
    ],
    ids=["doubled", "closed", "gone"],
)
def test_a_process_that_dies_while_the_next_is_started_is_an_error_in_words(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", start_after_a_death(error))
    with pytest.raises(StoreError, match=f"^{WORDS}$"):
        list(run_in_processes([partial(time.sleep, 60)] * 2, 2))


def start_after_a_death(error: Exception) -> Callable[..., int]:
    """A function that starts processes. Before the second it kills the first, and fails when its pool has closed pipes.

    Python 3.12 does not close them while it starts a process: there the second process begins after some time.
    """
    start = multiprocessing.util.spawnv_passfds

    def spawn(path: bytes, words: Sequence[bytes], pipes: Sequence[int]) -> int:
        for child in multiprocessing.active_children():
            child.kill()
            for _ in range(200):
                if not all(map(is_open, pipes)):
                    raise error
                time.sleep(0.01)
        return start(path, words, pipes)

    return spawn


def is_open(descriptor: int) -> bool:
    """Whether a descriptor of this process is open."""
    return Path(f"/proc/self/fd/{descriptor}").is_symlink()


def test_an_error_of_a_pool_that_is_not_broken_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def spawn(*_: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", spawn)
    with pytest.raises(BlockingIOError, match="no more processes"):
        list(run_in_processes([partial(operator.mul, 2, n) for n in range(2)], 2))


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
