from pathlib import Path

import pytest

from bench.mixing.takedown import run


@pytest.mark.slow
def test_a_small_lake_of_the_bench_has_all_documents_where_they_were_put(tmp_path: Path) -> None:
    assert [row.agree for row in run(tmp_path, shards=3, rows=40)] == [True, True]
