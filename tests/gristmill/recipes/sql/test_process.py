"""The processes that run rules: their limits, and that they end with what they are for."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from gristmill.recipes.sql.process import LIMITS, RuleStopped, ask_rule_process
from gristmill.recipes.sql.worker import CheckRules, EvaluateRules, ProcessLimits

TEXT = "ab" * 50_000
FAST, SMALL = ProcessLimits(0.6, LIMITS.memory), ProcessLimits(LIMITS.seconds, 300 << 20)
FINE = "length(text) > 3"
LONG = "levenshtein(text, reverse(text)) > 3"  # 10 billion steps
LARGE = "length(replace(text, 'a', text)) > 3"  # 5 GB


@pytest.fixture(autouse=True)
def alone() -> None:
    """The process of an earlier test does not count."""
    for pid in processes():
        os.kill(pid, signal.SIGKILL)
    while processes():
        time.sleep(0.005)


def processes(parent: int = 0) -> list[int]:
    """The processes that run rules for this process, or for another one."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            state, of = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if of == str(parent or os.getpid()) and b"gristmill.recipes.sql.worker" in command and state != "Z":
            found.append(int(folder.name))
    return found


def decided(where: str, limits: ProcessLimits = LIMITS, text: str = TEXT) -> bytes:
    """The decision about one row; it fails if something is wrong."""
    table = pa.table({"text": [text]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    query = f"SELECT ({where})::SMALLINT AS decision FROM __rows"
    answer, decisions = ask_rule_process(EvaluateRules(query, limits), sink.getvalue())
    assert (answer.wrong or "memory") == "memory", answer
    return decisions if not answer.wrong else answer.words.encode()


@pytest.mark.slow
def test_one_process_answers_many_questions() -> None:
    assert decided(FINE) == b"\1\0"
    first = processes()
    assert [decided("length(text) < 3"), decided(FINE)] == [b"\0\0", b"\1\0"]
    assert processes() == first
    assert len(first) == 1


@pytest.mark.slow
def test_one_that_takes_too_long_is_ended_and_the_next_question_is_answered() -> None:
    with pytest.raises(RuleStopped, match=r"^takes more than 0\.6 s of CPU time$"):
        decided(LONG, FAST)
    assert processes() == []
    assert decided(FINE, FAST) == b"\1\0"


@pytest.mark.slow
def test_one_that_wants_too_much_memory_is_told_so_and_ends() -> None:
    assert b"Out of Memory" in decided(LARGE, SMALL)
    assert processes() == []
    assert decided(FINE, SMALL) == b"\1\0"


@pytest.mark.slow
def test_one_that_has_kept_a_quarter_of_the_limit_is_not_asked_again() -> None:
    limits = ProcessLimits(LIMITS.seconds, 1 << 30)
    assert decided("len(str_split(text, '')) > 3", limits, "x") == b"\0\0"
    before = processes()
    assert decided("len(str_split(text, '')) > 3", limits, "x" * 15_000_000) == b"\1\0"
    assert decided(FINE, limits) == b"\1\0"
    assert set(processes()).isdisjoint(before)


@pytest.mark.slow
def test_one_that_died_idle_is_replaced() -> None:
    decided(FINE)
    (idle,) = processes()
    os.kill(idle, signal.SIGKILL)
    assert decided(FINE) == b"\1\0"


@pytest.mark.slow
def test_one_that_dies_otherwise_is_told_by_its_signal() -> None:
    decided(FINE)
    (busy,) = processes()
    before = cpu(busy)

    def kill_once_it_works() -> None:
        while cpu(busy) < before + 0.2:
            time.sleep(0.01)
        os.kill(busy, signal.SIGSEGV)

    killer = threading.Thread(target=kill_once_it_works)
    killer.start()
    with pytest.raises(RuleStopped, match=r"^ended DuckDB with signal 11$"):
        decided(LONG)
    killer.join()


def cpu(pid: int) -> float:
    """CPU seconds of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


def test_it_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "never-seen")
    decided(FINE)
    (pid,) = processes()
    assert b"never-seen" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.slow
def test_who_is_interrupted_while_he_waits_leaves_no_process_behind() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            decided(LONG)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < LIMITS.seconds
    assert processes() == []


def test_it_ends_with_the_process_that_asks() -> None:
    program = (
        "import os\n"
        "from gristmill.recipes.sql.process import LIMITS, ask_rule_process\n"
        "from gristmill.recipes.sql.worker import CheckRules\n"
        "ask_rule_process(CheckRules((('a', 'BIGINT'),), ('a > 1',), LIMITS))\n"
        "print('asked', flush=True)\n"
        "input()\n"
        "os._exit(0)\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert asking.stdin is not None
    assert asking.stdout is not None
    assert asking.stdout.readline() == b"asked\n"
    (pid,) = processes(asking.pid)
    handle = os.pidfd_open(pid)
    asking.stdin.close()
    asking.wait()
    try:
        assert select.select([handle], [], [], 20)[0] == [handle]
    finally:
        os.close(handle)
        asking.stdout.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # what forking pools do as well
def test_a_forked_child_has_a_process_of_its_own() -> None:
    request = CheckRules((("a", "VARCHAR"),), ("a = 'b'",), LIMITS)
    assert ask_rule_process(request)[0].wrong == ""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ask_rule_process(request)
            code = 0 if processes(os.getpid()) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_check_has_limits_too() -> None:
    doubled = "list_reduce([" + ", ".join(["'a'"] * 34) + "], lambda x, y: concat(x, x)) = a"
    answer, _ = ask_rule_process(CheckRules((("a", "VARCHAR"),), (doubled,), SMALL))
    assert answer.wrong == "memory"
