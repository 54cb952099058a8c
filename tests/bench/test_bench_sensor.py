from pathlib import Path

import pytest

from bench.lakes.sensor import run


@pytest.mark.slow
def test_the_sensor_is_measured_over_objects_that_nobody_stored(tmp_path: Path) -> None:
    (row,) = run(tmp_path, objects=3_000, snapshots=3)
    assert row.agree
    assert row.detail["first"]["said"] == "snapshot-0000, snapshot-0001, snapshot-0002 reported"
    assert [each["said"] for each in row.detail["noticed"]] == ["snapshot-0000 reported"]
    assert row.note.startswith("3,000 objects in 3 snapshots, 1 ticks; ")
