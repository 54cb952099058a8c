"""A gate before each shard, where a test wants one, and nowhere else."""

import os
import time
from pathlib import Path


def dawdle() -> None:
    """Waits until the gate lets one more shard pass.

    GATE names a folder. Its file `permits` holds how many shards may pass; each that passes leaves a file there.
    """
    gate = os.environ.get("GATE")
    number = 0
    while gate and not _passes(Path(gate), number):
        if number < int((Path(gate) / "permits").read_text() or 0):
            number += 1  # another shard has this permit
        else:
            time.sleep(0.02)


def _passes(gate: Path, number: int) -> bool:
    """Whether this shard takes the permit of this number."""
    if number >= int((gate / "permits").read_text() or 0):
        return False
    try:
        (gate / str(number)).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
