"""Asks a process that runs jq expressions (jq_worker.py). One that passes its limits ends alone."""

import atexit
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from gristmill.dolma.mixing.jq_worker import BETWEEN
from gristmill.errors import undone_at_failure
from gristmill.execution.remote import ONE_CORE
from gristmill.extras import check_installed, needs
from gristmill.recipes.sql.limited_process import LimitedProcess, process_end_reason
from gristmill.recipes.sql.worker import ProcessLimits

LIMITS = ProcessLimits(seconds=20.0, memory=2 << 30)
"""For one row."""
_KEPT = frozenset({"PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR"})
"""Environment variables of the process. The others may be secrets, and expressions need none.

Without HOME, jq does not read the functions of `~/.jq`, which may replace its own.
"""


Answer = tuple[list[list[Any]], str | None]
"""The values for the rows before the first that fails, and its error."""


class _JqProcess(LimitedProcess):
    def __init__(self, limits: ProcessLimits) -> None:
        check_installed(needs("jq"), "a jq expression")
        super().__init__(
            "gristmill.dolma.mixing.jq_worker",
            str(limits.seconds),
            str(limits.memory),
            kept=_KEPT,
            variables=ONE_CORE,
            stdin=subprocess.PIPE,  # nothing is written; when this process ends, it is closed, and ends that one
            stderr=subprocess.DEVNULL,  # jq writes there that memory is short
        )

    @property
    def has_passed_limit(self) -> bool:
        """Whether the process, which has ended, passed a limit of its own. Else it may have died while it was idle."""
        return -self.process.wait() in {signal.SIGPROF, signal.SIGABRT}

    def ask(self, question: bytes) -> Answer | None:
        """The answer; None if the process has ended."""
        try:
            self.connection.send_bytes(question)
            values, error = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        return values, error


_idle: dict[tuple[int, ProcessLimits], list[_JqProcess]] = {}
"""Processes without work, by the process that started them: a forked child must not use those of its parent."""


@atexit.register
def _end_idle_processes() -> None:
    for (owner, _), processes in _idle.items():
        for process in processes if owner == os.getpid() else ():
            process.kill_process()


def values_by_process(text: str, rows: Sequence[str], limits: ProcessLimits = LIMITS) -> Iterator[list[Any]]:
    """What an expression gives for rows, each in turn. Any number of threads may ask at the same time.

    Args:
        text: text of the expression.
        rows: JSON without line feeds.
        limits: limits for one row.

    Returns:
        A list of values for each row.

    Raises:
        ValueError: the expression fails on the next row, or passes its limits there.
    """
    if not rows:
        return
    answered = _ask_new_process(text, rows, limits)
    if not isinstance(answered, str):
        yield from answered[0]
        if answered[1] is not None:
            raise ValueError(answered[1])
        return
    if len(rows) == 1:
        raise ValueError(f"jq {text!r} {answered}")
    for row in rows:  # which one was it?
        yield from values_by_process(text, [row], limits)


def check_by_process(text: str, limits: ProcessLimits = LIMITS) -> None:
    """Checks that jq reads an expression.

    Args:
        text: text of the expression.
        limits: limits for reading it.

    Raises:
        ValueError: it does not, or passes the limits.
    """
    answered = _ask_new_process(text, [], limits)
    error = answered if isinstance(answered, str) else answered[1]
    if error is not None:
        raise ValueError(error)


def _ask_new_process(text: str, rows: Sequence[str], limits: ProcessLimits) -> Answer | str:
    """The answer of a process, or why it has ended."""
    question = BETWEEN.join([json.dumps(text), *rows]).encode()
    idle = _idle.setdefault((os.getpid(), limits), [])
    reused = bool(idle)
    process = idle.pop() if reused else _JqProcess(limits)
    answered = _answer_or_kill(process, question)
    if answered is None and reused and not process.has_passed_limit:  # perhaps this row had no part in its end
        process.kill_process()
        process = _JqProcess(limits)
        answered = _answer_or_kill(process, question)
    if answered is None:
        return process_end_reason(process.end(), limits, "jq")
    idle.append(process)
    return answered


def _answer_or_kill(process: _JqProcess, question: bytes) -> Answer | None:
    with undone_at_failure(process.kill_process):  # when this process is being stopped, the answer would come too late
        return process.ask(question)
