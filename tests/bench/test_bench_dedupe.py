from pathlib import Path

import pytest

from bench.dedupe import fingerprints, resolution, scale


@pytest.mark.slow
def test_as_many_hashes_are_marked_as_were_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_BENCH_HASHES", "20000")
    rows = [resolution.rates(tmp_path / "rates", 20_000), resolution.memory(tmp_path / "memory", 20_000)]
    (tmp_path / "scale").mkdir()
    rows += scale.run(tmp_path / "scale")
    assert [row.agree for row in rows] == [True, True, True]


@pytest.mark.slow
def test_one_new_snapshot_has_the_marks_that_it_has_when_all_is_made_anew(tmp_path: Path) -> None:
    assert resolution.one_new(tmp_path / "new", old=2, size=100_000).agree


@pytest.mark.slow
def test_each_unit_has_a_rate_of_its_fingerprints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_BENCH_DEDUPE_MB", "0.2")
    rows = fingerprints.run(tmp_path)
    assert [row.detail["totals"]["hashes"] > 0 for row in rows] == [True] * len(fingerprints.UNITS)
