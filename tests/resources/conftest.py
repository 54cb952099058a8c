"""A real database of Dagster, and an environment beside it."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gristmill.environment import Environment


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return tmp_path / "home"


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home)) as made:
        yield made


@pytest.fixture
def environment(home: Path) -> Environment:
    return Environment(str(home.parent / "lake"), (), 1, "", "", webhook="http://127.0.0.1/x", ui_url="https://ui")
