from pathlib import Path

import pytest
from testkit import Mill, make_documents


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """A lake with the ten documents doc-00000 to doc-00009."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.convert()
    return mill
