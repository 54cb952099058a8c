"""Commands on one lake in any order: training reads what it should, and what is told is true."""

from pathlib import Path

import pytest
from walklake import Walk

STEPS = 40


@pytest.mark.parametrize("walk", range(24))
def test_a_walk_of_commands_ends_as_the_model_says(tmp_path: Path, seed: int, walk: int) -> None:
    (tmp_path / "lake").mkdir()
    taken = Walk(tmp_path / "lake", seed * 1000 + walk)
    assert len(list(taken.steps(STEPS))) == STEPS
    assert sum(taken.codes.values()) >= STEPS // 2, taken.log
