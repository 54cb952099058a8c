import shutil
from pathlib import Path

import pytest
from testkit import Mill
from wholelake import make_whole


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake with all kinds of assets; no test changes it."""
    root = tmp_path_factory.mktemp("made-once") / "lake"
    make_whole(root)
    return root


@pytest.fixture
def whole(made_once: Path, tmp_path: Path) -> Mill:
    """A copy of that lake for one test."""
    shutil.copytree(made_once, tmp_path / "lake")
    return Mill(tmp_path / "lake")
