"""The processes that run jq: who dies idle is replaced, and none outlives who asks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from gristmill.stages.dolma_mixing.jq_process import JqLimits, values_by_process

LIMITS = JqLimits(seconds=5.0, memory=1 << 30)


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
            and b"dolma_mixing.jq_worker\0" in command
            and b"\0005.0\0" in command
            and state != "Z"
        ):
            found.append(int(folder.name))
    return found


def test_one_process_answers_many_questions_and_one_that_died_idle_is_replaced() -> None:
    assert list(values_by_process("def f: .n; f", ['{"n":1}', '{"n":[2,"\\n"]}'], LIMITS)) == [[1], [[2, "\n"]]]
    assert list(values_by_process('"\n", .', ["1"], LIMITS)) == [["\n", 1]]
    (idle,) = processes()
    os.kill(idle, signal.SIGKILL)
    while processes():
        time.sleep(0.005)
    assert list(values_by_process("repeat(.) | 1", [], LIMITS)) == []
    assert list(values_by_process("first(repeat(.))", ["1"], LIMITS)) == [[1]]
    assert len(processes()) == 1


def test_it_ends_with_who_asked() -> None:
    code = (
        "import os; from gristmill.stages.dolma_mixing import jq_process as p;"
        "print(next(p.values_by_process('.', ['1']))[0], p._idle.popitem()[1][0]._process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(done.stdout.split()[1])
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
