from pathlib import Path

import pytest

from bench.lakes.small_files import run


@pytest.mark.slow
def test_small_files_are_made_and_one_that_changed_again(tmp_path: Path) -> None:
    rows = run(tmp_path, files=40)
    assert [row.agree for row in rows] == [False, True, True]  # 40 names leave some of the 32 shards empty
    assert [row.note.split(" of ")[0] for row in rows] == ["40 rows", "1 shard ground", "40 rows"]
