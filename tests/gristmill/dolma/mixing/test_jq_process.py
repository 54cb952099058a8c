"""The processes that run jq: who dies idle is replaced, and none outlives who asks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gristmill.dolma.mixing.jq_process import values_by_process
from gristmill.recipes.sql.worker import ProcessLimits

LIMITS = ProcessLimits(seconds=5.0, memory=1 << 30)


def processes() -> list[int]:
    """The processes that run jq for this process."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            state, of = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if (
            of == str(os.getpid())
            and b"dolma.mixing.jq_worker\0" in command
            and b"\0005.0\0" in command
            and state != "Z"
        ):
            found.append(int(folder.name))
    return found


def test_one_process_answers_many_questions_and_one_that_died_idle_is_replaced() -> None:
    assert list(values_by_process("def f: .n; f", ['{"n":1}', '{"n":[2,"\\n"]}'], LIMITS)) == [[1], [[2, "\n"]]]
    assert list(values_by_process('"\n", .', ["1"], LIMITS)) == [["\n", 1]]
    killed: set[int] = set()
    for _ in range(5):  # the question comes before the system has ended it, or after
        (idle,) = set(processes()) - killed
        os.kill(idle, signal.SIGKILL)
        killed.add(idle)
        assert list(values_by_process("repeat(.) | 1", [], LIMITS)) == []
        assert list(values_by_process("first(repeat(.))", ["1"], LIMITS)) == [[1]]
    assert len(set(processes()) - killed) == 1


def test_it_ends_with_who_asked() -> None:
    code = (
        "import os; from gristmill.dolma.mixing import jq_process as p;"
        "print(next(p.values_by_process('.', ['1']))[0], p._idle.popitem()[1][0].process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wait_for_end_of(int(done.stdout.split()[1]))


@pytest.mark.slow
def test_it_ends_with_who_asked_in_the_middle_of_an_expression() -> None:
    code = (
        "from gristmill.dolma.mixing import jq_process as p; limits = p.ProcessLimits(1e6, 1 << 30)\n"
        "list(p.values_by_process('1', ['1'], limits)); (idle,) = p._idle.values()\n"
        "print(idle[0].process.pid, flush=True)\n"
        "list(p.values_by_process('last(range(1e15))', ['1'], limits))"
    )
    asker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert asker.stdout is not None
        with asker.stdout:
            pid = int(asker.stdout.readline())
        begun = spent(pid)
        while spent(pid) < begun + 10:  # it computes, and would for days
            time.sleep(0.01)
    finally:
        asker.kill()
        asker.wait()
    wait_for_end_of(pid)


def spent(pid: int) -> int:
    """Ticks of CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_functions_in_the_home_folder_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".jq").write_text("def length: 77;")
    monkeypatch.setenv("HOME", str(tmp_path))
    limits = ProcessLimits(5.5, LIMITS.memory)  # a process of its own
    assert list(values_by_process("length", ["[1, 2]"], limits)) == [[2]]


def wait_for_end_of(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
