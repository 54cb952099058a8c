"""How scripts talk: one line a fact, with the seconds since the start; Dagster's own log stays in Dagster."""

import sys
import time

_START = time.monotonic()


def say(line: str) -> None:
    """Prints a line at once."""
    print(f"[{time.monotonic() - _START:6.1f} s] {line}", flush=True)


def stop(message: str) -> None:
    """Ends the script with a message and exit code 1."""
    print(message, file=sys.stderr)
    raise SystemExit(1)
