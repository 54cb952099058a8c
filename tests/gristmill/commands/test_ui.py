"""What `ui` starts over a lake that `make` made, and that nothing of it is left."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT, python_path

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]


class Started:
    """`python -m gristmill ui`, until it says that the UI answers."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        variables = {**os.environ, "DAGSTER_HOME": str(home), "GRISTMILL_SHELVES": "dagshelf"}
        self.lake = home.parent / "lake"
        self.lake.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gristmill", "ui", str(self.lake), "-p", str(self.port)],
            cwd=ROOT,
            env={**variables, "PYTHONPATH": python_path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline() for _ in range(4)]
        self.children = {self._name(pid): pid for pid in self._children()}

    def _children(self) -> list[int]:
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    @staticmethod
    def _name(pid: int) -> str:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        return words[words.index("-m") + 1] if "-m" in words[:2] else "web server"

    def end(self) -> tuple[int, str]:
        """The exit code, and what it said as an error; nothing that it started lives on."""
        _, said = self.process.communicate(timeout=120)
        assert [pid for pid in self.children.values() if Path(f"/proc/{pid}").exists()] == []
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", self.port)) != 0
        return self.process.returncode, said


def test_ctrl_c_ends_all_of_it(tmp_path: Path) -> None:
    ui = Started(tmp_path / "home")
    assert f"http://127.0.0.1:{ui.port} answers" in ui.lines[3]
    assert set(ui.children) == {"dagster", "dagster._daemon", "web server"}
    ui.process.send_signal(signal.SIGINT)
    assert ui.end() == (0, "")


def test_a_child_that_ends_is_named_and_the_others_end_too(tmp_path: Path) -> None:
    ui = Started(tmp_path / "home")
    os.kill(ui.children["web server"], signal.SIGKILL)
    code, said = ui.end()
    assert code == 2
    log = tmp_path / "home" / "ui" / "web-server.log"
    first, then = said.splitlines()
    assert first.startswith("the web server was ended by signal 9 (SIGKILL): ")
    assert first.endswith(f"; its log is {log}")
    assert then.startswith("no run is lost: ")
