"""Ctrl-C at any moment: the children of a command print no trace, however young they are."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from testkit import Mill

from gristmill.interrupts import children_deaf, worker_pool

CHILD = """
import sys
print("begun", flush=True)
sys.stdin.readline()
from gristmill import interrupts
interrupts.obey_parent()
print("goes on", flush=True)
"""
"""A process that has begun, and hears Ctrl-C before it has said what it does then."""


def test_a_child_that_hears_ctrl_c_while_it_begins_prints_no_trace() -> None:
    with children_deaf():
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate("\n", timeout=60)
    assert (child.returncode, out, err) == (0, "goes on\n", "")


def test_this_process_hears_it_once_its_children_have_begun() -> None:
    begun = []
    with pytest.raises(KeyboardInterrupt), children_deaf():  # noqa: PT012 - the signal comes in between
        signal.raise_signal(signal.SIGINT)
        begun.append("as a whole")
    assert begun == ["as a whole"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_pool_that_nobody_needs_any_more_is_not_waited_for() -> None:
    with pytest.raises(KeyboardInterrupt), worker_pool(1) as pool:  # noqa: PT012 - a task is under way
        with children_deaf():
            waiting = [pool.submit(time.sleep, 300) for _ in range(3)]
        assert not any(each.done() for each in waiting)
        raise KeyboardInterrupt
    while multiprocessing.active_children():  # else for 15 minutes
        time.sleep(0.01)


def children_of(pid: int) -> int:
    """How many processes of a session there are beside its first."""
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += int(fields[3]) == pid and fields[0] != "Z"
    return found - 1


@pytest.mark.slow
@pytest.mark.parametrize("command", ["make", "verify"])
@pytest.mark.parametrize("wait", [0.0, 0.1, 0.3])
def test_a_command_that_is_stopped_in_its_first_seconds_ends_in_words(whole: Mill, command: str, wait: float) -> None:
    told = [sys.executable, "-m", "gristmill", command, str(whole.root), "--workers", "2"]
    if command == "make":
        for each in range(3):
            whole.raw(
                f"{each}.jsonl", b'{"id":"%d","text":"%s","source":"pages"}' % (each, b"a " * 400_000), snapshot="2030"
            )
        told += ["--engine", "local"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shelves = ["--shelves", "gristmill,testshelf"]
    program = subprocess.Popen(
        [*told, *shelves],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    while not children_of(program.pid) and program.poll() is None:
        time.sleep(0.005)
    time.sleep(wait)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, err = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "Traceback" not in err, err
