from pathlib import Path

import pytest

from bench.mixing.preview import row_of


@pytest.mark.slow
def test_a_small_lake_of_the_bench_is_counted_right(tmp_path: Path) -> None:
    assert row_of(tmp_path, 3, 1000, 90.0).agree is True
