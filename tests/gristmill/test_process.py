"""A process is found again by more than its number; one of another machine or container is never called dead."""

import os
import subprocess
import sys

import msgspec
import pytest

from gristmill.process import Process, this_process

CODE = """
import sys
from gristmill.process import this_process
print(this_process().started, flush=True)
sys.stdin.read()
"""


def test_this_process_runs_and_is_the_same_later() -> None:
    here = this_process()
    assert here.runs(here)
    assert (here.pid, str(here)) == (str(os.getpid()), f"process {os.getpid()} on {here.host}")
    assert here.is_same(msgspec.structs.replace(here, since="another time"))
    assert not here.is_same(msgspec.structs.replace(here, started="1"))


def test_a_process_runs_until_it_is_killed_and_its_number_alone_is_not_it() -> None:
    here = this_process()
    child = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        started = child.stdout.readline().strip()
        found = msgspec.structs.replace(here, pid=str(child.pid), started=started)
        assert found.runs(here)
        later = msgspec.structs.replace(found, started=f"{int(started) + 1}")
        assert later.runs(here) is False  # the number belongs to another process now
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert found.runs(here) is False  # it has ended, though nobody has asked for its exit code yet
    assert found.runs(here) is False


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        ({"host": "elsewhere"}, None),
        ({"machine": "another of this name"}, None),
        ({"space": "pid:[1]"}, None),  # another container
        ({"host": "elsewhere", "boot": "another"}, None),
        ({"pid": "0"}, False),  # to the system, the number 0 is a whole group of processes, and -1 is all
        ({"pid": "-1"}, False),
        ({"pid": "9" * 30}, False),
        ({"pid": "x"}, False),
        ({"started": ""}, True),
    ],
)
def test_what_can_be_said_of_a_process(change: dict[str, str], *, runs: bool | None) -> None:
    here = this_process()
    assert msgspec.structs.replace(here, **change).runs(here) is runs


def test_a_machine_that_was_started_anew_has_ended_its_processes_and_containers_of_one_name_are_on_any_machine() -> (
    None
):
    before = Process("host", "id", "boot 1", "pid:[4026531836]", "7")
    now = msgspec.structs.replace(before, boot="boot 2")
    assert before.runs(now) is False
    for change in ({"space": "pid:[4026532501]"}, {"machine": ""}):
        assert msgspec.structs.replace(before, **change).runs(msgspec.structs.replace(now, **change)) is None


def test_a_process_of_a_system_that_tells_nothing_but_numbers_runs_if_its_number_does() -> None:
    here = Process("host", pid=str(os.getpid()))
    assert here.runs(Process("host", pid="1"))
