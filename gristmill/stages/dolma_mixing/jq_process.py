"""Asks a process that runs jq expressions (jq_worker.py). One that passes its limits ends alone."""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

from gristmill.execution.remote import ONE_CORE
from gristmill.interrupts import children_deaf
from gristmill.stages.dolma_mixing.jq_worker import BETWEEN


@dataclass(frozen=True)
class JqLimits:
    """What an expression may use.

    Attributes:
        seconds: CPU time for one row. A busy machine does not shorten it.
        memory: bytes that its process may have. Only Linux enforces it.
    """

    seconds: float
    memory: int


LIMITS = JqLimits(seconds=20.0, memory=2 << 30)
_KEPT = frozenset({"PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR"})
"""Environment variables of the process. The others may be secrets, and expressions need none.

Without HOME, jq does not read the functions of `~/.jq`, which may replace its own.
"""


Answer = tuple[list[list[Any]], str | None]
"""The values for the rows before the first that fails, and its error."""


class _JqProcess:
    def __init__(self, limits: JqLimits) -> None:
        paths = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109 - '' in sys.path means the working directory
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        self._limits = limits
        self._connection, theirs = Pipe()
        arguments = [str(theirs.fileno()), str(limits.seconds), str(limits.memory)]
        with children_deaf():
            self._process = subprocess.Popen(  # noqa: S603 - our own module; its arguments are numbers
                [sys.executable, "-m", "gristmill.stages.dolma_mixing.jq_worker", *arguments],
                stdin=subprocess.PIPE,  # nothing is written; when this process ends, it is closed, and ends that one
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # jq writes there that memory is short
                pass_fds=[theirs.fileno()],
                env={**kept, **ONE_CORE, "PYTHONPATH": paths},
            )
        theirs.close()

    @property
    def limited(self) -> bool:
        """Whether the process, which has ended, passed a limit of its own. Else it may have died while it was idle."""
        return -self._process.wait() in {signal.SIGPROF, signal.SIGABRT}

    def ask(self, question: bytes) -> Answer | None:
        """The answer; None if the process has ended."""
        try:
            self._connection.send_bytes(question)
            values, error = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            return None
        return values, error

    def why(self) -> str:
        """Why the process has ended."""
        code = self._process.wait()
        self._close()
        if -code == signal.SIGPROF:
            return f"takes more than {self._limits.seconds:g} s of CPU time"
        if -code in {signal.SIGKILL, signal.SIGABRT}:
            return f"needs more memory than there is, or than the limit of {self._limits.memory >> 20:,} MiB"
        return f"ended jq with signal {-code}" if code < 0 else f"ended jq with code {code}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._connection.close()
        if self._process.stdin:
            self._process.stdin.close()


_idle: dict[tuple[int, JqLimits], list[_JqProcess]] = {}
"""Processes without work, by the process that started them: a forked child must not use those of its parent."""


@atexit.register
def _end_idle() -> None:
    for (owner, _), processes in _idle.items():
        for process in processes if owner == os.getpid() else ():
            process.kill()


def values_by_process(text: str, rows: Sequence[str], limits: JqLimits = LIMITS) -> Iterator[list[Any]]:
    """What an expression gives for rows, each in turn. Any number of threads may ask at the same time.

    Args:
        text: of the expression.
        rows: JSON without line feeds.
        limits: for one row.

    Raises:
        ValueError: the expression fails on the next row, or passes its limits there.
    """
    if not rows:
        return
    answered = _asked(text, rows, limits)
    if not isinstance(answered, str):
        yield from answered[0]
        if answered[1] is not None:
            raise ValueError(answered[1])
        return
    if len(rows) == 1:
        raise ValueError(f"jq {text!r} {answered}")
    for row in rows:  # which one was it?
        yield from values_by_process(text, [row], limits)


def check_by_process(text: str, limits: JqLimits = LIMITS) -> None:
    """Checks that jq reads an expression.

    Args:
        text: of the expression.
        limits: for reading it.

    Raises:
        ValueError: it does not, or passes the limits.
    """
    answered = _asked(text, [], limits)
    error = answered if isinstance(answered, str) else answered[1]
    if error is not None:
        raise ValueError(error)


def _asked(text: str, rows: Sequence[str], limits: JqLimits) -> Answer | str:
    """The answer of a process, or why it has ended."""
    question = BETWEEN.join([json.dumps(text), *rows]).encode()
    idle = _idle.setdefault((os.getpid(), limits), [])
    reused = bool(idle)
    process = idle.pop() if reused else _JqProcess(limits)
    answered = _answered(process, question)
    if answered is None and reused and not process.limited:  # perhaps this row had no part in its end
        process.kill()
        process = _JqProcess(limits)
        answered = _answered(process, question)
    if answered is None:
        return process.why()
    idle.append(process)
    return answered


def _answered(process: _JqProcess, question: bytes) -> Answer | None:
    try:
        return process.ask(question)
    except BaseException:  # this process is being stopped; the answer would come too late
        process.kill()
        raise
