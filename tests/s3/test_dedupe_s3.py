"""Runs, verdicts and marks in a bucket have the bytes that they have in a folder."""

from pathlib import Path

import pytest
from hashlake import HashLake, recipe_of
from seaweed import REGION, Seaweed

from gristmill.lake.store.s3 import BucketStore


def resolved(lake: HashLake) -> dict[str, bytes]:
    lake.give("news", "a", {"s": [(0, 1), (2**63, 1), (0, 1)], "t": [(7, 1)], "u": []})
    lake.give("web", "x", {"s": [(7, 1), (9, 9)]})
    lake.resolve(("news", "a", False))
    lake.resolve(("web", "x", False))
    return {path: data for path, data in lake.mill.tree().items() if path.startswith("dedupe/")}


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1 << 20, 2])
def test_a_bucket_and_a_folder_hold_the_same(
    seaweed: Seaweed, near: BucketStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: int
) -> None:
    for stage in ("runs", "verdicts", "marks"):
        monkeypatch.setattr(f"gristmill.stages.dedupe.{stage}.step.MIB", unit)
    options = {"endpoint": seaweed.endpoint, "region": REGION}
    assert resolved(HashLake(tmp_path / "b", recipe_of(), near.url, options)) == resolved(
        HashLake(tmp_path / "f", recipe_of())
    )
