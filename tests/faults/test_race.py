"""Several processes make the same partitions at once: one wins, and the lake is whole whatever the others do."""

import os
import subprocess
import sys
from pathlib import Path

import testkit
from testkit import Mill

ENTRY = Path(testkit.__file__).with_name("journey.py")


def journey(mill: Mill) -> "subprocess.Popen[str]":
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return subprocess.Popen(
        [sys.executable, str(ENTRY), str(mill.root), "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_three_journeys_at_once_end_as_one(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = Mill(tmp_path / "alone")
    for each in (mill, alone):
        each.raw_shards(20)
    with journey(alone) as process:
        process.communicate()
        assert process.returncode == 0
    team = [journey(mill) for _ in range(3)]
    for process in team:
        _, words = process.communicate()
        # The losers stop with a StoreError of some kind: taken over, or being rebuilt; or an input is not there yet.
        if process.returncode:
            assert "\ngristmill.errors." in words
            assert "MalformedRow" not in words
    with journey(mill) as process:
        process.communicate()
        assert process.returncode == 0
    assert mill.tree() == alone.tree()
