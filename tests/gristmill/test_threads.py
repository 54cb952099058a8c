"""Types are ready before there are threads: two that decode one for the first time at once crash Python."""

import re
import subprocess
import sys
from pathlib import Path

from gristmill.threads import start_thread, thread_pool

ROOT = Path(__file__).resolve().parents[2]

AT_ONCE = """
import sys, threading, msgspec
from gristmill import threads
sys.setswitchinterval(1e-6)
NUMBERS = [(f"n{k}", int, 0) for k in range(20)]
for n in range(100):
    inner = msgspec.defstruct(f"Inner{n}", NUMBERS)
    outer = msgspec.defstruct(f"Outer{n}", [("inner", inner), ("more", list[inner]), *NUMBERS])
    together = threading.Barrier(4)
    def decode(_):
        together.wait()
        return msgspec.json.decode(b'{"inner":{"n1":7},"more":[{}]}', type=outer).inner.n1
    with threads.thread_pool(4) as pool:
        assert list(pool.map(decode, range(4))) == [7] * 4
"""
"""Four threads decode a type at once that nobody has decoded before, a hundred times."""


def test_threads_that_decode_a_type_for_the_first_time_at_once_all_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_that_is_begun_runs_and_has_its_name() -> None:
    heard: list[str] = []
    thread = start_thread(heard.append, "begun", name="a listener")
    thread.join()
    assert (heard, thread.name, thread.daemon) == (["begun"], "a listener", True)
    with thread_pool(2) as pool:
        assert list(pool.map(abs, (-1, -2))) == [1, 2]


def test_all_threads_are_started_where_types_are_made_ready() -> None:
    files = [path for top in ("gristmill", "assets", "resources", "sensors") for path in (ROOT / top).rglob("*.py")]
    starts = re.compile(r"\b(Thread|ThreadPoolExecutor)\(")
    calls = {(str(path.relative_to(ROOT)), each) for path in files for each in starts.findall(path.read_text())}
    there = "gristmill/threads.py"
    assert calls == {(there, "Thread"), (there, "ThreadPoolExecutor")}
