"""Workers that sleep, and wake when a newer run has taken their partition over: they change nothing of it."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from exported import mix_of
from steered import before_any
from testkit import SHELVES, SNAPSHOT, Meanwhile, Mill, make_documents

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.errors import GristmillError, Superseded
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, StoredPlan, assemble_one, grind, plan, publish_one
from gristmill.execution.survey import survey_step
from gristmill.lake.address import export_asset, place
from gristmill.lake.ledger.receipts import leave_receipt, read_receipts
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.export import Export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step


def finish(mill: Mill, step: Step, planned: StoredPlan) -> None:
    """Grinds and publishes a planned step."""
    assert grind(planned, Inline(), mill.said.append).failed == []
    publish_one(planned, step.makes[0], assemble_one(step, planned, step.makes[0], {}))


def large(first: int) -> list[dict[str, object]]:
    """Thirty documents of about 200 kB, which do not repeat: their shard is read in several blocks."""
    return [
        {**row, "text": " ".join(hashlib.sha256(f"{n} {row}".encode()).hexdigest() for n in range(3000))}
        for row in make_documents(30, start=first)
    ]


def test_a_shard_that_is_late_is_ground_by_the_newer_run(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older run has asked for its claim, and writes its shard when the newer one has planned it."""
    mill.raw_shards(2)
    planned: list[StoredPlan] = []

    def newer() -> None:
        mill.raw("a.jsonl.gz", make_documents(7, start=500))
        planned.append(plan(mill.conversion(), mill.lake, "newer"))

    before_any(monkeypatch, "hold_unchanged", mill.documents().shard("a"), newer)
    with pytest.raises(Superseded):
        mill.convert()
    finish(mill, mill.conversion(), planned[0])
    assert len(mill.ids(mill.documents(), "a")) == 7
    assert survey_step(mill.conversion(), mill.store)[0].finished


def test_a_late_receipt_does_not_count_as_that_of_the_newer_run(mill: Mill) -> None:
    """A bucket has no lock, so a receipt may be late there, and its object may be the one that it names."""
    mill.raw_shards(2)
    where, step = mill.documents(), mill.conversion()
    older = plan(step, mill.lake, "older")
    grind(older, Inline(), mill.said.append)
    late = next(receipt for receipt in read_receipts(mill.store, where) if receipt.row.name == "a")
    mill.raw("a.jsonl.gz", make_documents(7, start=500))
    newer = plan(step, mill.lake, "newer")
    leave_receipt(mill.store, where, "older", late)
    finish(mill, step, newer)
    assert len(mill.ids(where, "a")) == 7
    assert [row.rows for row in mill.table(where).values()] == [7, 10]


def test_an_older_run_that_ends_removes_nothing_that_a_newer_one_has_made(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.raw_shards(3)
    mill.convert()
    where = mill.documents()
    mill.store.delete(["sources/pages/raw/2024/c.jsonl.gz"])
    delete = FolderStore.delete

    def late(store: FolderStore, paths: list[str], still: Callable[[], bool] | None = None) -> None:
        monkeypatch.setattr(FolderStore, "delete", delete)
        if where.shard("c") in paths:
            mill.raw("c.jsonl.gz", make_documents(10, start=20))
            mill.convert()
        else:
            monkeypatch.setattr(FolderStore, "delete", late)
        delete(store, paths, still)

    monkeypatch.setattr(FolderStore, "delete", late)
    with pytest.raises(Superseded):
        mill.convert()
    mill.verify(where)
    assert sorted(mill.table(where)) == ["a", "b", "c"]


def test_an_older_run_that_ends_leaves_the_claim_and_the_receipts_of_a_newer_one(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.raw_shards(2)
    where, step = mill.documents(), mill.conversion()
    older = plan(step, mill.lake, "older")
    newer: list[StoredPlan] = []
    delete = FolderStore.delete

    def late(store: FolderStore, paths: list[str], still: Callable[[], bool] | None = None) -> None:
        if where.receipt_path("a") in paths:
            monkeypatch.setattr(FolderStore, "delete", delete)
            mill.raw("a.jsonl.gz", make_documents(7, start=500))
            newer.append(plan(step, mill.lake, "newer"))
            grind(newer[0], Inline(), mill.said.append)
        delete(store, paths, still)

    monkeypatch.setattr(FolderStore, "delete", late)
    finish(mill, step, older)
    publish_one(newer[0], where.asset, assemble_one(step, newer[0], where.asset, {}))
    assert len(mill.ids(where, "a")) == 7


def test_a_late_worker_writes_nothing_into_a_part_that_the_newer_run_has_made(mill: Mill) -> None:
    """Tars that are full are published while rows are read. Meanwhile the shard of the mix has become another one."""
    mill.raw("a.jsonl.gz", large(0))
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    export = Export(name="tars", mixes=("blend",), format=EnergonWebdataset(parts={"txt": "text"}, shard_samples=3))
    step = ExportStep(mix_of(), "pages", export, SNAPSHOT, SHELVES)
    where = place(export_asset("blend", "tars", "pages"), SNAPSHOT)
    made: dict[str, bytes] = {}

    def newer() -> None:
        mill.make(step)
        made.update({entry.path: mill.store.read(entry.path) for entry in mill.store.list(where.folder)})
        mill.raw("a.jsonl.gz", large(700))
        mill.convert()
        mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))

    with pytest.raises(GristmillError, match="a newer run has taken it over"):
        mill.make(step, Meanwhile(newer))
    assert sum(path.endswith(".tar") for path in made) == 10
    assert {path: mill.store.read(path) for path in made} == made


def test_two_workers_of_one_run_may_make_the_same_shard(mill: Mill) -> None:
    """A cluster gives the shard of a worker that does not answer to another one, and both end."""
    mill.raw_shards(2)
    step, where = mill.conversion(), mill.documents()
    planned = plan(step, mill.lake, "one")
    grind(planned, Inline(), mill.said.append)
    file = Path(mill.root / where.shard("a"))
    data = file.read_bytes()
    file.unlink()
    mill.store.put(where.shard("a"), data)
    publish_one(planned, where.asset, assemble_one(step, planned, where.asset, {}))
    mill.verify(where)
