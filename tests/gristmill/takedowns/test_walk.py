"""One walk of the attack suite, by a fixed seed: commands in an order that nobody wrote down."""

from pathlib import Path

import pytest
from walklake import Walk

SEED, STEPS = 10, 30


@pytest.mark.slow
def test_commands_in_any_order_leave_what_the_model_says(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    walk = Walk(tmp_path / "lake", SEED)
    names = list(walk.steps(STEPS))
    assert len(names) == STEPS
    assert {"make 0", "verify 0", "takedown --prove 0", "release 0", "erase 0"} <= walk.codes.keys()
