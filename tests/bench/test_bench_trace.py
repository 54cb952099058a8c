from pathlib import Path

import pytest

from bench.lakes.trace import run


@pytest.mark.slow
def test_the_lake_of_the_bench_is_traced_rightly_at_a_hundredth_of_a_thousandth_of_its_size(tmp_path: Path) -> None:
    rows = run(tmp_path, shards=9, rows=40)
    assert [row.agree for row in rows] == [True, True, True]
    assert all(row.detail["requests"]["of id indexes"] >= 11 for row in rows)
