"""An installed wheel, for the tests of a corpus of one's own."""

import sys
from pathlib import Path

import pytest
from wheel import installed_wheel


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel of this checkout, and what it needs."""
    return installed_wheel(tmp_path_factory.mktemp("installed"), sys.executable).parent
