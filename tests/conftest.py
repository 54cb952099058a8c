import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from draws import same_draws
from seaweed import Seaweed
from testkit import Mill

from gristmill.lake.store.folder import FolderStore

LONG = ("faults", "s3", "assets", "gristmill/engines", "sensors", "production", "bench", "test_upgrade")
"""Folders and files that take longest: workers begin with them, so that no worker is alone with one at the end."""


SETTINGS = ("LAKE", "SHELVES", "ENGINE", "ENGINE_ADDRESS", "WORKERS", "INTERVAL", "RETRY_DELAY", "UI_HOSTS")
"""What a person sets for a lake of their own. Tests set what they need."""


def pytest_configure() -> None:
    """Tests are the same whatever lake the shell around them is set to, and in the background of a shell too.

    A shell without a terminal lets its background jobs ignore Ctrl-C, and Python then leaves it ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in SETTINGS:
        os.environ.pop(f"GRISTMILL_{name}", None)
    same_draws()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the long files first; within a folder all stays in order."""
    tests = Path(__file__).parent
    items.sort(key=lambda item: not item.path.relative_to(tests).as_posix().startswith(LONG))


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not look at their half a million objects again.

    It looks at new objects less often too: every 20,000 instead of every 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what tests have told by `record_property("told", ...)`: what they measured."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "told":
                terminalreporter.write_line(f"{report.nodeid}: {value}")


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """An empty lake in a folder, with the recipes of tests/support/shelves/testshelf."""
    root = tmp_path / "lake"
    root.mkdir()
    return Mill(root)


@pytest.fixture
def lake(mill: Mill) -> FolderStore:
    """The store of an empty lake in a folder."""
    return FolderStore(str(mill.root))


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """A real S3 server with one bucket; how to reach it stands in this process's environment."""
    server = Seaweed(tmp_path_factory.mktemp("seaweed") / "data")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server
    server.close()
