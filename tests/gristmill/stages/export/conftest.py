from pathlib import Path

import pytest
from exported import export, start
from testkit import Mill


@pytest.fixture
def exported(tmp_path: Path) -> Mill:
    """Two shards of 10 documents, in two parts."""
    mill = start(tmp_path / "exported")
    export(mill)
    return mill
