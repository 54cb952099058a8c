"""Rounds against a slow reference: every scope, editions, heavy hashes, equal halves, any memory and any buckets."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from draws import draws
from hashlake import Hash, HashLake, SlowDedupe, recipe_of
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, RecipeError
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.order import Order

MEMORY = ("runs", "verdicts", "marks")
LAST = 2**64 - 1
POOL: list[Hash] = [(hi, lo) for hi in (0, 1, 2**62, 2**63 - 1, 2**63, LAST) for lo in (0, 5, LAST)]
NEW = [("news", "a", False), ("wiki", "1", True), ("web", "x", False), ("wiki", "2", True), ("news", "b", False)]
NEW += [("wiki", "3", True), ("news", "c", False)]

hashes = st.lists(st.sampled_from(POOL), max_size=12)
snapshots = st.dictionaries(st.sampled_from(["s", "t/u", "v"]), hashes, max_size=3)


def small_memory(patch: pytest.MonkeyPatch, unit: int = 20) -> None:
    """Makes a MiB so many bytes."""
    for stage in MEMORY:
        patch.setattr(f"gristmill.stages.dedupe.{stage}.step.MIB", unit)


@pytest.mark.slow
@given(
    scope=st.sampled_from(["group", "source", "snapshot"]),
    buckets=st.sampled_from([1, 2, 3, 17]),
    memory=st.sampled_from(["plenty", "little"]),
    data=st.lists(snapshots, min_size=len(NEW), max_size=len(NEW)),
    order=st.permutations(NEW),
    cuts=st.sets(st.integers(1, len(NEW) - 1), max_size=3),
)
@settings(max_examples=draws(3))
def test_rounds_say_what_the_slow_reference_says(
    scope: str, buckets: int, memory: str, data: list[Any], order: list[tuple[str, str, bool]], cuts: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if memory == "little":
            small_memory(patch)
        lake = HashLake(Path(folder, "lake"), recipe_of(scope, buckets))
        for (source, snapshot, _), shards in zip(order, data, strict=True):
            lake.give(source, snapshot, shards)
        ends = [0, *sorted(cuts), len(NEW)]
        for begin, end in itertools.pairwise(ends):
            lake.resolve(*order[begin:end])
        slow = SlowDedupe(lake)
        for number in range(1, lake.order.round_count + 1):
            assert (lake.matrix(number), lake.histogram(number)) == (slow.matrix(number), slow.histogram(number))
            assert lake.largest(number) == slow.largest(number)
        for rank, entry in enumerate(lake.order.entries):
            assert lake.verdict_pairs(entry.round, rank) == slow.verdicts(rank)
            assert lake.marks(entry.source, entry.snapshot) == slow.marks(rank)


def changed(lake: HashLake, before: dict[str, bytes]) -> set[str]:
    """The folders of parts that are new or have other bytes."""
    tree = lake.mill.tree().items()
    return {path.split("part-")[0] for path, data in tree if "part-" in path and before.get(path) != data}


def test_a_later_round_reads_only_hashes_of_earlier_ones_and_changes_none(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of())
    lake.give("news", "a", {"s": [(0, 1), (1, 1), (0, 1)], "t": [(LAST, 1)]})
    lake.resolve(("news", "a", False))
    lake.give("news", "b", {"s": [(1, 1), (7, 7)]})
    before = lake.mill.tree()
    for path in before:  # the next round must do without these files
        if path.rpartition("/")[2] in {"positions", "repeats", "counts"}:
            lake.mill.store.delete([path])
    lake.resolve(("news", "b", False))
    assert lake.marks("news", "b") == {"s": [0]}
    assert changed(lake, before) == {
        "dedupe/paragraphs-1/runs/news/b/",
        "dedupe/paragraphs-1/verdicts/r00002/",
        "dedupe/paragraphs-1/marks/news/b/",
    }


def test_a_changed_shard_changes_the_verdicts_of_its_buckets_alone(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=4))
    plain = {"s": [(0, 1), (2**62, 1)], "t": [(2**63, 1), (LAST, 1)]}
    lake.give("news", "a", plain)
    lake.give("web", "x", {"s": [(0, 1), (2**63, 1)]})
    lake.resolve(("news", "a", False))
    lake.resolve(("web", "x", False))
    assert lake.marks("web", "x") == {"s": [0, 1]}
    lake.give("news", "a", {**plain, "s": [(0, 2), (2**62, 1)]})
    lake.runs("news", "a")
    assert lake.mill.ground == ["00000"]
    for number in (1, 2):
        lake.mill.make(lake.verdicts(number))
        assert lake.mill.ground == ["00000"]
    lake.again(2)
    assert lake.marks("web", "x") == {"s": [1]}


def test_moved_hashes_of_an_earlier_snapshot_change_no_verdict(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=1))
    lake.give("news", "a", {"s": [(0, 1), (1, 1)]})
    lake.give("web", "x", {"s": [(1, 1)]})
    lake.resolve(("news", "a", False))
    lake.resolve(("web", "x", False))
    lake.give("news", "a", {"s": [(1, 1), (0, 1)]})
    lake.runs("news", "a")
    with pytest.raises(DataError, match="make the verdicts of this round again"):
        lake.verdict_pairs(2, 1)
    lake.mill.make(lake.verdicts(2))
    assert lake.mill.ground == []
    assert lake.verdict_pairs(2, 1) == {0: (0, 0)}


def test_an_unknown_round_and_missing_runs_are_refused(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of())
    with pytest.raises(RecipeError, match="its order has no round 1"):
        lake.verdicts(1).plan(lake.mill.store)
    lake.order = Order().with_round([("news", "a", False)])
    with pytest.raises(DataError, match="runs/news: snapshot a is not there yet; make it first"):
        lake.verdicts(1).plan(lake.mill.store)


def test_runs_of_another_recipe_are_refused(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    lake.give("news", "a", {"s": [(0, 1)]})
    lake.runs("news", "a")
    lake.order = Order().with_round([("news", "a", False)])
    other = VerdictsStep(recipe_of(buckets=3), lake.order, 1, ("gristmill",))
    with pytest.raises(DataError, match="not the 3 buckets of this recipe; make the runs again"):
        other.plan(lake.mill.store)
