"""Each JSON value of each record of a lake, in each odd form: commands end in words, and nothing is lost."""

import os
from pathlib import Path

import pytest
from oddvalues import drawn, judged, make_odd_lake, odd_records

COUNT = int(os.environ.get("ODD") or 200)
"""Number of odd records that are tried, drawn by the seed; 1000000 are all."""


@pytest.mark.parametrize("turn", range(10))
def test_an_odd_value_in_a_record_ends_in_words_that_name_it(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, seed: int, turn: int
) -> None:
    """Ten turns, so that the time of the suite ends between two of them."""
    good = make_odd_lake(tmp_path_factory.mktemp("odd") / "lake")
    tried = drawn(odd_records(good), seed, COUNT)[turn::10]
    (tmp_path / "ids.jsonl").write_bytes((good.root.parent / "ids.jsonl").read_bytes())
    wrong = [told for odd, seal in tried for told in judged(good, tmp_path / "tried", odd, seal=seal)]
    assert wrong == [], "\n".join(wrong)
