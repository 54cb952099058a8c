"""Marks of a snapshot, in groups of shards and all at once."""

from pathlib import Path

import pytest
from hashlake import HashLake, SlowDedupe, recipe_of

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import HASH_RUNS, MARKS
from gristmill.stages.dedupe.marks.step import MarksStep

SHARDS = {name: [(number % 5, 1) for number in range(start, start + 9)] for start, name in enumerate("abcdefg")}


def resolved(root: Path) -> HashLake:
    lake = HashLake(root, recipe_of(buckets=2))
    lake.give("web", "x", {"s": [(3, 1), (4, 1)], "empty": []})
    lake.give("news", "a", SHARDS)
    lake.resolve(("web", "x", False))
    lake.resolve(("news", "a", False))
    return lake


@pytest.mark.parametrize("unit", [1 << 20, 2])
def test_marks_are_those_of_the_slow_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: int) -> None:
    monkeypatch.setattr("gristmill.stages.dedupe.marks.step.MIB", unit)
    lake = resolved(tmp_path)
    assert lake.marks("news", "a") == SlowDedupe(lake).marks(1)
    assert lake.marks("web", "x") == {"s": [], "empty": []}
    rows = lake.mill.table(place(MARKS.at(dedupe="paragraphs-1", source="news"), "a"))
    assert [row.rows for row in rows.values()] == [6, 9, 9, 9, 9, 9, 9]


def test_unchanged_marks_are_kept_and_missing_ones_made(tmp_path: Path) -> None:
    lake = resolved(tmp_path)
    step = MarksStep(lake.recipe, lake.order, "news", "a", ("gristmill",))
    lake.mill.make(step)
    assert lake.mill.ground == []
    row = lake.mill.table(place(MARKS.at(dedupe="paragraphs-1", source="news"), "a"))["c"]
    whole = lake.mill.tree()
    lake.mill.store.delete(list(row.objects or {}))
    lake.mill.make(step)
    assert lake.mill.ground == ["c"]
    assert lake.mill.tree() == whole


def test_what_was_made_before_a_change_is_refused(tmp_path: Path) -> None:
    lake = resolved(tmp_path)
    step = MarksStep(lake.recipe, lake.order, "news", "a", ("gristmill",))
    lake.give("news", "a", {**SHARDS, "a": [(9, 9)]})
    with pytest.raises(DataError, match=r"fingerprints/news \(a\) was changed; make .*/runs/news \(a\)"):
        step.plan(lake.mill.store)
    lake.runs("news", "a")
    with pytest.raises(DataError, match=r"runs/news \(a\) was changed; make dedupe/paragraphs-1/verdicts \(r00002\)"):
        step.plan(lake.mill.store)
    with pytest.raises(RecipeError, match="its order has no snapshot b of news; resolve it first"):
        MarksStep(lake.recipe, lake.order, "news", "b", ("gristmill",)).plan(lake.mill.store)


def test_runs_are_read_with_their_digest(tmp_path: Path) -> None:
    lake = resolved(tmp_path)
    where = place(HASH_RUNS.at(dedupe="paragraphs-1", source="news"), "a")
    path = next(path for path in lake.mill.table(where)["00000"].objects or {} if path.endswith("repeats"))
    lake.mill.store.put(path, lake.mill.store.read(path)[:-1] + b"\x01")
    with pytest.raises(DataError, match="repeats: other bytes than its ledger names"):
        lake.mill.make(MarksStep(lake.recipe, lake.order, "news", "a", ("gristmill",)), force=True)
