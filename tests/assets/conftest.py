from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import Works


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    """An empty lake with the recipes of tests/support/shelves/dagshelf, and an instance that is gone afterwards."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(tmp_path / "lake", instance)
