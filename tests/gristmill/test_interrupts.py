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

from gristmill.interrupts import shield_children_from_interrupt, worker_pool

CHILD = """
import sys
print("begun", flush=True)
sys.stdin.readline()
from gristmill import interrupts
interrupts.ignore_interrupt_in_child()
print("goes on", flush=True)
"""
"""A process that has begun, and hears Ctrl-C before it has said what it does then."""

ENDS = ("ledgers proven, 0 findings", " is up to date")
"""The last lines of the two commands that are stopped here, if nobody stops them."""

STOPPED = (130, -signal.SIGINT)
"""Exit codes of what Ctrl-C stopped. Python takes the signal's own where an import by `exec` was under way."""


def test_a_child_that_hears_ctrl_c_while_it_begins_prints_no_trace() -> None:
    with shield_children_from_interrupt():
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
    with pytest.raises(KeyboardInterrupt), shield_children_from_interrupt():  # noqa: PT012 - the signal comes in between
        signal.raise_signal(signal.SIGINT)
        begun.append("as a whole")
    assert begun == ["as a whole"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_pool_that_nobody_needs_any_more_is_not_waited_for() -> None:
    with pytest.raises(KeyboardInterrupt), worker_pool(1) as pool:  # noqa: PT012 - a task is under way
        with shield_children_from_interrupt():
            waiting = [pool.submit(time.sleep, 300) for _ in range(3)]
        assert not any(each.done() for each in waiting)
        raise KeyboardInterrupt
    while multiprocessing.active_children():  # else for 15 minutes
        time.sleep(0.01)


def children_of(pid: int) -> int:
    """How many processes of a session there are beside its first."""
    found = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - a glob asks for each name again, and fails if it is gone
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += int(fields[3]) == pid and fields[0] != "Z"
    return found - 1


def stopped(arguments: list[str], longest: float) -> tuple[int, str]:
    """Stops a command some seconds after its first child began. Returns its exit code and what it complained.

    Where this machine gave the command more time than this process, and it has told its end before it was stopped, it
    is told again and stopped earlier.
    """
    for wait in (longest, longest / 2, longest / 4, 0.0):
        program = subprocess.Popen(
            [sys.executable, "-m", "gristmill", *arguments, "--shelves", "gristmill,testshelf"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        while not children_of(program.pid) and program.poll() is None:
            time.sleep(0.005)
        time.sleep(wait)
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        out, err = program.communicate(timeout=60)
        if not any(end in out for end in ENDS):
            return program.returncode, err
    raise AssertionError(f"it ended each time before it was stopped: {out}")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["make", "verify"])
@pytest.mark.parametrize("wait", [0.0, 0.1, 0.3])
def test_a_command_that_is_stopped_in_its_first_seconds_ends_in_words(whole: Mill, command: str, wait: float) -> None:
    arguments = [command, str(whole.root), "--workers", "2"]
    if command == "make":
        for each in range(3):
            whole.raw(
                f"{each}.jsonl", b'{"id":"%d","text":"%s","source":"pages"}' % (each, b"a " * 400_000), snapshot="2030"
            )
        arguments += ["--engine", "local"]
    code, err = stopped(arguments, wait)
    assert code in STOPPED, err
    assert "Traceback" not in err, err
