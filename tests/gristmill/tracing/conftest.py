from pathlib import Path

import pytest
from testkit import Mill, link
from tracelake import even, make_trace_lake


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())


@pytest.fixture
def mill(clean: Mill, tmp_path: Path) -> Mill:
    link(clean.root, tmp_path / "lake")
    return Mill(tmp_path / "lake")
