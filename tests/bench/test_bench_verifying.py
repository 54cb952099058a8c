from pathlib import Path

import pytest

from bench.harness.cost import ROOT
from bench.lakes.verifying import BEFORE, run


@pytest.mark.slow
def test_a_small_lake_of_the_bench_is_made_found_sound_and_derived_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BEFORE, str(ROOT))
    rows = run(tmp_path, megabytes=0.05, turns=1, lakes={"2 shards": 2}, demo=False)
    assert [(row.agree, row.peer is not None) for row in rows] == [(True, True)] * 2
