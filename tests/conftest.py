from pathlib import Path

import pytest
from testkit import Mill

from gristmill.lake.folder import FolderStore


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """An empty lake in a folder, with the recipes of tests/recipes/testshelf."""
    root = tmp_path / "lake"
    root.mkdir()
    return Mill(root)


@pytest.fixture
def lake(mill: Mill) -> FolderStore:
    """The store of an empty lake in a folder."""
    return FolderStore(str(mill.root))
