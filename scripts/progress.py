"""How scripts talk: one line a fact, with the seconds since the start; Dagster's own log stays in Dagster."""

import logging
import sys
import time
from typing import Any

import dagster as dg

_START = time.monotonic()


def say(line: str) -> None:
    """Prints a line at once."""
    print(f"[{time.monotonic() - _START:6.1f} s] {line}", flush=True)


class _Lines(logging.Handler):
    """What ops say to `context.log`, without Dagster's own events."""

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "dagster_meta", {})
        if meta.get("dagster_event") is None and record.levelno >= logging.INFO:
            key = meta.get("step_key") or ""
            step = key.rpartition(".")[0] or key
            say(f"    {step}: {meta.get('orig_message') or record.getMessage()}")


def _logger(context: dg.InitLoggerContext) -> logging.Logger:  # noqa: ARG001 - Dagster's signature
    logger = logging.getLogger("gristmill.progress")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_Lines())
    return logger


progress_logger = dg.LoggerDefinition(_logger, description="Progress of runs, one line a fact")
"""The logger of the scripts' runs."""


def stop(message: str) -> None:
    """Ends the script with a message and exit code 1."""
    print(message, file=sys.stderr)
    raise SystemExit(1)
