import signal
import subprocess
from pathlib import Path

import pytest

from gristmill.recipes.sql.limited_process import LimitedProcess, process_end_reason
from gristmill.recipes.sql.worker import ProcessLimits

LIMITS = ProcessLimits(seconds=1.5, memory=300 << 20)


def test_a_process_gets_the_named_variables_of_this_one_and_those_that_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRISTMILL_SECRET", "s")
    process = LimitedProcess(
        "gristmill.dolma.mixing.jq_worker",
        str(LIMITS.seconds),
        str(LIMITS.memory),
        kept={"PATH"},
        variables={"OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
    )
    names: set[str] = set()
    while not names and process.process.poll() is None:  # the kernel shows none while it begins the program
        lines = Path(f"/proc/{process.process.pid}/environ").read_bytes().split(b"\0")
        names = {line.partition(b"=")[0].decode() for line in lines if line}
    process.kill_process()
    assert names == {"PATH", "OMP_NUM_THREADS", "PYTHONPATH"}
    assert process.process.returncode == -signal.SIGKILL
    assert process.connection.closed


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-signal.SIGPROF, "takes more than 1.5 s of CPU time"),
        (-signal.SIGKILL, "needs more memory than there is, or than the limit of 300 MiB"),
        (-signal.SIGABRT, "needs more memory than there is, or than the limit of 300 MiB"),
        (-signal.SIGSEGV, "ended jq with signal 11"),
        (3, "ended jq with code 3"),
    ],
)
def test_the_exit_code_says_why_a_process_ended(code: int, words: str) -> None:
    assert process_end_reason(code, LIMITS, "jq") == words
