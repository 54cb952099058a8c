"""The attack suite: corruption and hostile input by whole classes, not by examples. `make attack` runs it.

Each test of this folder has the marker `attack`; no other suite runs it. SEED=n repeats the choices of a run. No test
begins after BUDGET minutes (15): the tests that were not tried are then named as skipped.
"""

import os
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BEGAN = time.monotonic()
MINUTES = float(os.environ.get("BUDGET") or 15)
SEED = int(os.environ.get("SEED") or 0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.attack)


def pytest_runtest_setup() -> None:
    """Tries nothing more when the time is over."""
    if time.monotonic() - BEGAN > 60 * MINUTES:
        pytest.skip(f"not tried: {MINUTES:.0f} minutes are over (BUDGET)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how to repeat the run."""
    terminalreporter.write_line(f"SEED={SEED} repeats these attacks")


@pytest.fixture(scope="session")
def seed() -> int:
    """The number that all choices of the run are drawn from."""
    return SEED
