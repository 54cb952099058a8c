"""A process that does a piece of work, and can be killed in the middle of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import one_step as one_step_module
from paths import ROOT, python_path

LONGEST = 300.0
"""Seconds after which a process that should have ended is taken for stuck."""


class Process:
    """A process in a group of its own; what it says is read line by line, with the time of each line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self.times: list[float] = []
        self.errors: list[str] = []
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                with self._news:
                    self.said.append(line.rstrip("\n"))
                    self.times.append(time.monotonic())
                    self._news.notify_all()
        with self._news:
            self.times.append(time.monotonic())
            self._news.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as words:
            self.errors.extend(words)

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def wait_for(self, line: Callable[[str], bool], seconds: float = LONGEST) -> bool:
        """Waits for a line; False if it ended without it."""

        def come() -> bool:
            return any(line(each) for each in self.said) or len(self.times) > len(self.said)

        with self._news:
            assert self._news.wait_for(come, seconds), f"stuck: {self.said[-5:]}"
            return any(line(each) for each in self.said)

    def seconds(self) -> dict[str, float]:
        """How long each phase took: from the line that names it to the next one; summed over its occurrences."""
        found: dict[str, float] = {}
        for said, begin, end in zip(self.said, self.times, self.times[1:], strict=False):
            if not said.startswith("changes"):
                found[said] = found.get(said, 0.0) + end - begin
        return found

    @property
    def has_done(self) -> bool:
        """Whether its work was done, whatever came then."""
        return any(line.startswith("changes") for line in self.said)

    @property
    def words(self) -> str:
        """The end of what it wrote as errors."""
        return "".join(self.errors)[-3000:]

    def signal(self, number: int) -> None:
        """Sends a signal to its whole group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wake(self) -> None:
        """Lets a stopped one go on."""
        self.signal(signal.SIGCONT)

    def kill(self, *, group: bool = True) -> bool:
        """SIGKILL to the process, or to its whole group; False if it had ended before."""
        if self.over:
            self.wait()
            return False
        if group:
            self.signal(signal.SIGKILL)
        else:
            self._process.kill()
        return self.wait() == -signal.SIGKILL

    def wait(self, seconds: float = LONGEST) -> int:
        """Its exit code."""
        code = self._process.wait(seconds)
        for thread in self._threads:
            thread.join(10)
        return int(code)

    def wait_or(self, otherwise: Callable[[], None], seconds: float) -> int:
        """Its exit code; if it takes longer than that, something else is done before it is waited for."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            otherwise()
        return self.wait()

    def finish(self) -> None:
        """Waits for its good end."""
        assert self.wait() == 0, self.words

    @property
    def children(self) -> list[int]:
        """Its children that live."""
        found: list[int] = []
        for folder in Path("/proc").iterdir():
            with suppress(OSError, IndexError):
                if (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(self.pid):
                    found.append(int(folder.name))
        return found


def one_step(
    lake: str, step: str, workers: int = 0, die: int = 0, environment: Mapping[str, str] | None = None
) -> Process:
    """Starts one step of the small lake, or `all` of them."""
    return Process([str(one_step_module.__file__), lake, step, str(workers), str(die)], environment)


def wait_until_gone(pids: Sequence[int], seconds: float = 60) -> None:
    """Waits until processes that nobody killed have ended by themselves."""
    end = time.monotonic() + seconds
    while not all(_is_gone(pid) for pid in pids):
        assert time.monotonic() < end, "a worker outlived its run"
        time.sleep(0.005)


def _is_gone(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True
