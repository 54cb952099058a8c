from pathlib import Path

import pytest
from testkit import Mill, link
from wholelake import make_whole


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clean") / "lake"
    make_whole(root)
    return root


@pytest.fixture
def whole(clean: Path, tmp_path: Path) -> Mill:
    """A copy of a lake that has one of everything, to plant a lie in."""
    return Mill(link(clean, tmp_path / "lake"))
