from pathlib import Path

import pytest
from testkit import Mill, link


@pytest.fixture
def whole(made_once: Path, tmp_path: Path) -> Mill:
    """A copy of the made lake whose files have no other name: tests here let single bits rot in place."""
    return Mill(link(made_once, tmp_path / "whole", shared=False))
