"""How runs that a command starts talk: one line a fact; Dagster's own log stays in Dagster."""

import logging
import sys
import time
from typing import Any

import dagster as dg

from gristmill.execution.work import Say

PROGRESS = "progress"
"""The name of the logger in the configuration of runs that a command starts."""


def to_output(line: str) -> None:
    """Shows a line of progress in the output of the run's process, which Dagster keeps."""
    sys.stdout.write(f"{line}\n")


class TimedLines:
    """Puts the seconds since its making in front of each line.

    Args:
        show: function that takes the lines.
    """

    def __init__(self, show: Say) -> None:
        self._show = show
        self._start = time.monotonic()

    def __call__(self, line: str) -> None:
        self._show(f"[{time.monotonic() - self._start:6.1f} s] {line}")


class _Lines(logging.Handler):
    """What ops say to `context.log`, without Dagster's own events."""

    def __init__(self, say: Say) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "dagster_meta", {})
        if meta.get("dagster_event") is None and record.levelno >= logging.INFO:
            key = meta.get("step_key") or ""
            step = key.rpartition(".")[0] or key
            self._say(f"    {step}: {meta.get('orig_message') or record.getMessage()}")


def progress_logger(say: Say) -> dg.LoggerDefinition:
    """A logger of runs whose lines go to a command's output."""

    def made(context: dg.InitLoggerContext) -> logging.Logger:  # noqa: ARG001 - Dagster's signature
        logger = logging.Logger("gristmill.progress", logging.INFO)  # noqa: LOG001 - one for each run, with its own output
        logger.addHandler(_Lines(say))
        return logger

    return dg.LoggerDefinition(made, description="Progress of runs, one line a fact")
