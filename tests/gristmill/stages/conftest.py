from pathlib import Path

import pytest
from testkit import Mill
from wholelake import make_whole


@pytest.fixture
def whole(tmp_path: Path) -> Mill:
    return make_whole(tmp_path / "whole")
