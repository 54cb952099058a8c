"""What the dashboard says when it cannot start, or when one of its processes ends; the whole is in test_ui.py."""

import socket
import sys
import time
from pathlib import Path

import pytest

from gristmill.dashboard.processes import Child, Dashboard, end_all_processes
from gristmill.errors import GristmillError, RecipeError


def test_a_taken_port_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RecipeError, match=rf"^127\.0\.0\.1:{port} is taken, .*: --port {port + 1}$"):
            Dashboard(tmp_path, {}, "127.0.0.1", port, lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_ends_early_is_told_with_its_last_lines(tmp_path: Path) -> None:
    words = "import sys; print('one'); sys.exit('no such module')"
    child = Child("code server", [sys.executable, "-c", words], tmp_path, {})
    with pytest.raises(GristmillError) as told:
        child.wait_for(socket.AF_UNIX, str(tmp_path / "nobody"))
    first = f"the code server has ended with exit code 1; the end of {tmp_path}/code-server.log:"
    assert str(told.value).splitlines()[0] == first
    assert set(str(told.value).splitlines()[1:]) == {"one", "no such module"}
    child.end()


def test_a_child_that_is_killed_is_told_by_its_signal_without_old_lines(tmp_path: Path) -> None:
    child = Child(
        "daemon", [sys.executable, "-c", "import time; print('old', flush=True); time.sleep(99)"], tmp_path, {}
    )
    while not child.log.read_text():
        time.sleep(0.02)
    child.process.kill()
    first, then = str(child.end_error("start it again")).splitlines()
    assert first.startswith("the daemon was ended by signal 9 (SIGKILL): ")
    assert first.endswith(f"; its log is {tmp_path}/daemon.log")
    assert then == "start it again"


def test_shown_lines_have_no_colours_and_are_not_empty(tmp_path: Path) -> None:
    words = "print('\\x1b[32m2026-11-23\\x1b[0m - \\x1b[1;31mERROR\\x1b[0m - no disk\\n\\n'); raise SystemExit(3)"
    child = Child("daemon", [sys.executable, "-c", words], tmp_path, {})
    assert child.process.wait() == 3
    assert "\x1b[32m" in child.log.read_text()
    assert str(child.end_error()).splitlines()[1:] == ["2026-11-23 - ERROR - no disk"]


def test_all_children_are_asked_to_end_before_one_is_waited_for(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    begin = f"""
import pathlib, signal, sys, time
asked = pathlib.Path({str(asked)!r})
def end(number, frame):
"""
    wait = """
print("ready", flush=True)
time.sleep(99)
"""
    first = "    asked.touch(); sys.exit(0)\nsignal.signal(signal.SIGTERM, end)"
    last = "    while not asked.exists(): time.sleep(0.02)\n    sys.exit(0)\nsignal.signal(signal.SIGTERM, end)"
    children = [
        Child(name, [sys.executable, "-c", begin + body + wait], tmp_path, {})
        for name, body in [("code server", first), ("web server", last)]
    ]
    while not all(child.log.read_text() for child in children):
        time.sleep(0.02)
    end_all_processes(children)
    assert [child.process.returncode for child in children] == [0, 0]  # else the last one would wait, and be killed


def test_a_child_is_ended(tmp_path: Path) -> None:
    sleeper = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_DFL); print(1, flush=True); time.sleep(99)"
    child = Child("daemon", [sys.executable, "-c", sleeper], tmp_path, {})
    while not child.log.read_text():  # an earlier test may have left SIGTERM ignored, which a child inherits
        time.sleep(0.02)
    child.end()
    assert child.process.returncode == -15


def test_a_log_that_is_too_long_is_put_aside_and_its_process_goes_on_at_the_start(tmp_path: Path) -> None:
    go = tmp_path / "go"
    writer = f"""
import pathlib, time
print("first", flush=True)
while not pathlib.Path({str(go)!r}).exists():
    time.sleep(0.02)
print("second", flush=True)
"""
    child = Child("daemon", [sys.executable, "-c", writer], tmp_path, {})
    while child.log.read_text() != "first\n":
        time.sleep(0.02)
    child.trim_log(most=6)  # as long as allowed
    assert child.log.read_text() == "first\n"
    child.trim_log(most=5)
    go.touch()
    child.process.wait()
    assert child.log.read_text() == "second\n"
    assert (tmp_path / "daemon.log.1").read_text() == "first\n"


def test_a_log_that_cannot_be_put_aside_or_is_gone_does_not_end_the_ui(tmp_path: Path) -> None:
    child = Child("daemon", [sys.executable, "-c", "print('first')"], tmp_path, {})
    child.process.wait()
    (tmp_path / "daemon.log.1").mkdir()  # nothing can be copied there, as on a full disk
    child.trim_log(most=5)
    assert child.log.read_text() == ""
    child.log.unlink()
    child.trim_log(most=5)
    assert str(child.end_error()).endswith("it cannot be read: No such file or directory")
