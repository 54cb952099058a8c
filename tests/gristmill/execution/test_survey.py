import pytest
from msgspec.structs import replace
from steered import before_any
from testkit import Mill, make_documents

from gristmill.errors import Superseded
from gristmill.execution.claim import Claimant
from gristmill.execution.runner import Inline
from gristmill.execution.step import assemble_one, grind, plan, publish_one
from gristmill.execution.survey import survey_step
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry
from gristmill.process import this_process


def test_the_dry_run_says_what_would_be_done_and_does_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    (found,) = survey_step(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 0, ("a", "b", "c"), ())
    assert [path for path in mill.tree() if "/raw/" not in path] == []
    mill.convert()
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    (found,) = survey_step(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 2, ("b",), ())
    mill.convert()
    assert survey_step(mill.conversion(), mill.store)[0].finished


def test_a_partition_whose_shards_are_all_ground_is_not_finished_before_its_ledger(mill: Mill) -> None:
    mill.raw_shards(2)
    grind(plan(mill.conversion(), mill.lake, "killed before it published"), Inline(), mill.said.append)
    (found,) = survey_step(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing) == (False, 2, ())
    assert found.why == ("never made; 2 shards have their receipts from an interrupted run",)


def test_what_a_killed_run_has_left_beside_a_finished_partition_is_removed(mill: Mill) -> None:
    mill.raw_shards(2)
    by = Claimant(replace(this_process(), started="another one had this number"))
    planned = plan(mill.conversion(), mill.lake, "killed after it published", by=by)
    grind(planned, Inline(), mill.said.append)
    asset = mill.documents().asset
    beside = {entry.path: mill.store.read(entry.path) for entry in mill.store.list(mill.documents().receipts_folder)}
    publish_one(planned, asset, assemble_one(mill.conversion(), planned, asset, {}))
    whole = mill.tree()
    assert survey_step(mill.conversion(), mill.store)[0].finished
    for path, data in beside.items():
        mill.store.put(path, data)
    (found,) = survey_step(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing) == (False, 2, ())
    assert found.why == ("a run that ended early has left files beside the ledger; no shard is made again",)
    mill.convert()
    assert mill.ground == []
    assert mill.tree() == whole
    mill.store.put(mill.documents().claim_path, b'{"token":"of Dagster"}')  # it may be at work
    assert survey_step(mill.conversion(), mill.store)[0].finished


def test_the_receipt_of_a_late_worker_is_removed_though_no_claim_is_beside_it(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has written its shard. Before it leaves the receipt, a newer run makes and publishes everything."""
    mill.raw_shards(2)
    where = mill.documents()
    whole: list[dict[str, bytes]] = []

    def newer() -> None:
        mill.convert()
        whole.append(mill.tree())

    late: list[bytes] = []

    def write(store: FolderStore, path: str, data: bytes) -> Entry:
        late.extend([data] if path == where.receipt_path("b") and not late else [])
        return put(store, path, data)

    put = FolderStore.put
    monkeypatch.setattr(FolderStore, "put", write)
    before_any(monkeypatch, "hold_unchanged", where.receipt_path("b"), newer)
    with pytest.raises(Superseded):
        mill.convert()
    assert list(mill.store.list(where.receipts_folder)) == []  # a folder asks for the claim under its lock
    mill.store.put(where.receipt_path("b"), late[0])  # a bucket has no lock
    assert [entry.path for entry in mill.store.list(where.receipts_folder)] == [where.receipt_path("b")]
    (found,) = survey_step(mill.conversion(), mill.store)
    assert found.why == ("a run that ended early has left files beside the ledger; no shard is made again",)
    mill.convert()
    assert (mill.ground, [mill.tree()]) == ([], whole)
