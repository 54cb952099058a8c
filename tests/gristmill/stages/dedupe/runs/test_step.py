"""Runs of a snapshot: what they hold, which are made again, and that memory changes no byte."""

from pathlib import Path

import numpy as np
import pytest
from hashlake import HashLake, publish_rows, recipe_of

from gristmill.engines.local import LocalPool
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import FINGERPRINTS, HASH_RUNS
from gristmill.stages.dedupe.columns import COUNTS, HASHES, POSITIONS, REPEATS
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.fingerprints.binary_part import read_part_file

WHERE = place(HASH_RUNS.at(dedupe="paragraphs-1", source="news"), "a")
FILES = {"hashes": HASHES, "positions": POSITIONS, "repeats": REPEATS, "counts": COUNTS}


def columns(lake: HashLake, bucket: str, file: str) -> list[list[int]]:
    data = read_part_file(lake.mill.store, lake.mill.table(WHERE)[bucket], WHERE.table, file)
    widths = [np.dtype(each).itemsize for each in FILES[file]]
    rows, at, found = len(data) // sum(widths), 0, []
    for dtype, width in zip(FILES[file], widths, strict=True):
        found.append(np.frombuffer(data, dtype, rows, at).tolist())
        at += rows * width
    return found


def test_a_run_by_hand(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    lake.give("news", "a", {"b": [(9, 1), (2**63, 0), (5, 2)], "a": [(5, 2), (9, 1), (5, 1), (9, 1)]})
    ledger = lake.runs("news", "a")
    second = 1 << 32  # shard b comes after shard a
    assert columns(lake, "00000", "hashes") == [[5, 5, 9], [1, 2, 1]]
    assert columns(lake, "00000", "positions") == [[2, 0, 1]]
    assert columns(lake, "00000", "repeats") == [[1, 2, 2], [second + 2, 3, second]]
    assert columns(lake, "00000", "counts") == [[1, 2], [1, 2]]
    assert columns(lake, "00001", "hashes") == [[2**63], [0]]
    assert (ledger.totals["rows"], ledger.totals["distinct"], ledger.totals["repeats"]) == (7, 4, 3)


def test_a_snapshot_without_shards_has_empty_runs(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    lake.give("news", "a", {})
    assert lake.runs("news", "a").totals["rows"] == 0
    assert columns(lake, "00001", "hashes") == [[], []]


def given(root: Path) -> HashLake:
    random = np.random.default_rng(3)
    lake = HashLake(root, recipe_of(buckets=20))
    for shard in ("a", "b", "c"):
        hi = random.integers(0, 200, 300, dtype=np.uint64) * np.uint64(2**56)
        hi[::3] = 2**62
        lake.given["news", "a"] = {**lake.given.get(("news", "a"), {}), shard: [(int(each), 1) for each in hi]}
    lake.give("news", "a", lake.given["news", "a"])
    return lake


@pytest.mark.slow
def test_memory_and_workers_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = []
    for number, unit in enumerate((1 << 20, 600, 30)):
        monkeypatch.setattr("gristmill.stages.dedupe.runs.step.MIB", unit)
        lake = given(tmp_path / str(number))
        engine = LocalPool(2) if number == 1 else None
        lake.mill.make(RunsStep(lake.recipe, "news", "a", ("gristmill",)), engine)
        trees.append({path: data for path, data in lake.mill.tree().items() if "/runs/news/" in path})
        assert ("bytes spilled" in lake.mill.store.read(WHERE.run).decode()) == (unit < 1 << 20)
    assert trees[0] == trees[1] == trees[2]


def test_the_order_of_shards_in_the_table_changes_no_byte(tmp_path: Path) -> None:
    trees = []
    for number, step in enumerate((1, -1)):
        lake = given(tmp_path / str(number))
        where = place(FINGERPRINTS.at(dedupe="paragraphs-1", source="news"), "a")
        publish_rows(lake.mill.store, lake.recipe, where, list(lake.mill.table(where).values())[::step])
        lake.runs("news", "a")
        trees.append({path: data for path, data in lake.mill.tree().items() if "/runs/news/a/" in path})
    assert trees[0] == trees[1]


def test_after_a_kill_only_missing_buckets_are_made(tmp_path: Path) -> None:
    lake = given(tmp_path)
    lake.runs("news", "a")
    whole = lake.mill.tree()
    row = lake.mill.table(WHERE)["00011"]
    lake.mill.store.delete(list(row.objects or {}))
    lake.runs("news", "a")
    assert lake.mill.ground == ["00011"]
    assert lake.mill.tree() == whole
    lake.runs("news", "a")
    assert lake.mill.ground == []
