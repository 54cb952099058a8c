"""Making partitions: what is kept, what is ground again, and what becomes of runs that are broken off or meet."""

import gzip
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, Stopping, make_documents

from gristmill.errors import DataError, GristmillError, StoreError, Superseded
from gristmill.execution.runner import Inline, raise_failures
from gristmill.execution.step import assemble_one, grind, make, plan, publish_one
from gristmill.execution.survey import survey
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule, field
from gristmill.stages.conversion.step import ConversionStep

EVEN = Stream(
    source="pages",
    version="v1",
    columns=(field("metadata.number", "BIGINT"),),
    include=(Rule("by-four", "number % 4 = 0", "every fourth, to count by eye"),),
)


def journey(mill: Mill) -> dict[str, list[str]]:
    """Raw to v0, attributes, v1 and a mix; what each step ground."""
    ground: dict[str, list[str]] = {}
    mill.convert()
    ground["v0"] = mill.ground
    mill.tag("words-1")
    ground["words"] = mill.ground
    mill.revise()
    ground["v1"] = mill.ground
    mill.mix(EVEN)
    ground["mix"] = mill.ground
    return ground


def everywhere(*names: str) -> dict[str, list[str]]:
    return {step: list(names) for step in ("v0", "words", "v1", "mix")}


def test_a_second_run_grinds_nothing_and_touches_no_object(mill: Mill) -> None:
    mill.raw_shards(3)
    assert journey(mill) == everywhere("a", "b", "c")
    before = mill.stamps()
    assert journey(mill) == everywhere()
    assert mill.stamps() == before


def test_rows_can_be_counted_by_eye_all_the_way(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    assert mill.ids(mill.documents(), "b") == [f"doc-{n:05d}" for n in range(10, 20)]
    # English are the even ones; of these doc-10 alone (10 % 5 + 1 = 1 word) is too short.
    assert mill.ids(mill.documents("v1"), "b") == ["doc-00012", "doc-00014", "doc-00016", "doc-00018"]
    assert mill.ids(mill.stream(), "b") == ["doc-00012", "doc-00016"]


def test_one_changed_raw_object_grinds_its_shard_and_its_descendants_alone(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    before = mill.stamps()
    mill.raw("b.jsonl.gz", make_documents(12, start=100))
    assert journey(mill) == everywhere("b")
    after = mill.stamps()
    changed = sorted(path for path in after if after[path] != before.get(path) and "ledgers" not in path)
    assert changed == [
        "mixes/blend/documents/pages/2024/b.jsonl.gz",
        "sources/pages/raw/2024/b.jsonl.gz",
        "sources/pages/v0/attributes/words-1/2024/b.jsonl.gz",
        "sources/pages/v0/documents/2024/b.jsonl.gz",
        "sources/pages/v1/documents/2024/b.jsonl.gz",
    ]
    assert len(mill.rows(mill.documents().shard("b"))) == 12


def test_a_touched_raw_object_grinds_its_shard_and_no_descendant(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    mill.raw("b.jsonl.gz", make_documents(10, start=10))
    assert journey(mill) == {"v0": ["b"], "words": [], "v1": [], "mix": []}


def test_a_new_raw_object_grinds_itself_alone(mill: Mill) -> None:
    mill.raw_shards(2)
    journey(mill)
    mill.raw("x.jsonl.gz", make_documents(1, start=900))
    assert journey(mill) == everywhere("x")


def test_the_shard_of_a_vanished_raw_object_goes_everywhere(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    mill.store.delete(["sources/pages/raw/2024/b.jsonl.gz"])
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 2, (), ("b",))
    assert journey(mill) == everywhere()
    for where in (mill.documents(), mill.attributes("words-1"), mill.documents("v1"), mill.stream()):
        ledger, shards = read_ledger(mill.store, where)
        assert [shard.name for shard in shards] == ["a", "c"]
        assert ledger.totals["shards"] == 2
    assert not [path for path in mill.tree() if "/b." in path]


def test_an_empty_raw_folder_is_taken_for_a_lost_one_unless_it_is_said_to_be_gone(mill: Mill) -> None:
    mill.raw_shards(1)
    journey(mill)
    before = mill.tree()
    mill.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    with pytest.raises(DataError, match="an empty folder may mean that raw data was lost"):
        mill.convert()
    assert {p: b for p, b in before.items() if "/raw/" not in p} == {
        p: b for p, b in mill.tree().items() if "/raw/" not in p
    }
    assert mill.make(replace(mill.conversion(), vanished=True)).totals["rows"] == 0


def test_a_table_edited_by_hand_is_made_again_and_not_believed(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    where = mill.documents()
    lines = gzip.decompress(mill.store.read(where.table)).replace(b'"rows":10', b'"rows":9')
    mill.store.put(where.table, gzip.compress(lines, mtime=0))
    mill.convert()
    assert mill.ground == ["a", "b"]
    assert mill.tree() == before


def test_a_snapshot_that_never_was_is_an_error(mill: Mill) -> None:
    with pytest.raises(DataError, match=r"put them under sources/pages/raw/2024/"):
        mill.convert()


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_run_that_was_broken_off_goes_on_where_it_was(mill: Mill, tmp_path: Path, after: int) -> None:
    other = Mill(tmp_path / "undisturbed")
    for each in (mill, other):
        each.raw_shards(5)
    journey(other)
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(after))
    assert mill.store.head(mill.documents().ledger) is None
    mill.convert()
    assert len(mill.ground) == 5 - after
    with pytest.raises(KeyboardInterrupt):
        mill.tag("words-1", engine=Stopping(after))
    mill.tag("words-1")
    assert len(mill.ground) == 5 - after
    journey(mill)
    assert mill.tree() == other.tree()
    assert not list(mill.store.list(mill.documents().receipts))


def test_a_run_that_fell_between_table_and_head_is_taken_up(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    head = mill.store.read(mill.documents().ledger)
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    mill.convert()
    after = mill.tree()
    mill.store.put(mill.documents().ledger, head)
    with pytest.raises(StoreError, match="being rebuilt"):
        read_ledger(mill.store, mill.documents())
    mill.convert()
    assert mill.ground == []
    assert mill.tree() == after


@pytest.mark.parametrize("data", [None, b"", b"torn", b"\x1f\x8b\x08\x00"])
def test_a_table_that_is_torn_or_missing_is_made_again(mill: Mill, data: bytes | None) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    path = mill.documents().table
    if data is None:
        mill.store.delete([path])
    else:
        mill.store.put(path, data)
    mill.convert()
    assert mill.ground == ["a", "b"]
    assert mill.tree() == before


@pytest.mark.parametrize("data", [None, b"", b'{"about":', b"[]"])
def test_a_note_that_is_torn_or_missing_costs_no_attribute(mill: Mill, data: bytes | None) -> None:
    mill.raw_shards(2)
    journey(mill)
    path = mill.attributes("words-1").run
    if data is None:
        mill.store.delete([path])
    else:
        mill.store.put(path, data)
    before = mill.tree()
    mill.tag("words-1")
    assert mill.ground == []
    assert mill.tree() == before


def test_a_torn_receipt_is_passed_over_and_its_shard_ground(mill: Mill) -> None:
    mill.raw_shards(3)
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(2))
    receipts = [mill.documents().receipt(name) for name in "abc"]
    receipts = [path for path in receipts if mill.store.head(path)]
    assert len(receipts) == 2
    mill.store.put(receipts[0], mill.store.read(receipts[0])[:100])
    mill.convert()
    assert mill.ground == ["a", receipts[0][-6]]
    mill.verify(mill.documents())


def test_a_shard_that_was_deleted_or_changed_by_hand_is_ground_again(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    before = mill.tree()
    mill.store.delete([mill.documents().shard("a"), mill.attributes("words-1").shard("b")])
    mill.store.put(mill.stream().shard("c"), b"by hand")
    mill.store.delete([mill.documents("v1").index("a")])
    assert journey(mill) == {"v0": ["a"], "words": ["b"], "v1": ["a"], "mix": ["c"]}
    assert mill.tree() == before


def test_what_lies_in_a_partition_and_is_named_by_no_ledger_is_removed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.store.put(mill.documents().shard("stray"), b"")
    mill.convert()
    assert mill.store.head(mill.documents().shard("stray")) is None


def test_a_copied_lake_is_hashed_once_and_grinds_nothing_but_what_is_made_from_raw(mill: Mill, tmp_path: Path) -> None:
    mill.raw_shards(3)
    journey(mill)
    shutil.copytree(mill.root, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = Mill(tmp_path / "copy")
    assert journey(copy) == {"v0": ["a", "b", "c"], "words": [], "v1": [], "mix": []}
    assert copy.tree() == mill.tree()
    before = copy.stamps()
    assert journey(copy) == everywhere()
    assert copy.stamps() == before
    noted = copy.store.read(copy.attributes("words-1").run)
    head = copy.store.head(copy.attributes("words-1").shard("a"))
    assert head is not None
    assert head.etag.encode() in noted


def test_force_grinds_everything_and_changes_no_byte(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    mill.make(mill.conversion(), force=True)
    assert mill.ground == ["a", "b"]
    assert mill.tree() == before


def test_a_draft_that_changed_is_rebuilt(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    mill.mix(EVEN, draft=True)
    other = Stream(source="pages", version="v1")
    assert mill.mix(other, draft=True).totals["rows"] == 8
    assert mill.ground == ["a", "b"]


def test_the_dry_run_says_what_would_be_done_and_does_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 0, ("a", "b", "c"), ())
    assert [path for path in mill.tree() if "/raw/" not in path] == []
    mill.convert()
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 2, ("b",), ())
    mill.convert()
    assert survey(mill.conversion(), mill.store)[0].finished


def test_the_run_that_was_taken_over_stops_and_changes_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    older = plan(mill.conversion(), mill.lake, "older")
    newer = plan(mill.conversion(), mill.lake, "newer")
    tally = grind(older, Inline(), mill.said.append)
    assert [failed.error for failed in tally.failed] == ["Superseded"] * 3
    with pytest.raises(Superseded, match="a newer run has taken it over"):
        raise_failures(tally.failed, older.items)
    assert not grind(newer, Inline(), mill.said.append).failed
    asset = mill.documents().asset
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    assembled = assemble_one(mill.conversion(), newer, asset, {})
    publish_one(newer, asset, assembled)
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    mill.verify(mill.documents())


def test_of_two_runs_that_publish_the_later_claim_wins(mill: Mill) -> None:
    mill.raw_shards(2)
    asset = mill.documents().asset
    older = plan(mill.conversion(), mill.lake, "older")
    grind(older, Inline(), mill.said.append)
    assembled = assemble_one(mill.conversion(), older, asset, {})
    newer = plan(mill.conversion(), mill.lake, "newer")
    assert newer.items == 0
    with pytest.raises(Superseded):
        publish_one(older, asset, assembled)
    assert mill.store.head(mill.documents().ledger) is None
    publish_one(newer, asset, assemble_one(mill.conversion(), newer, asset, {}))
    mill.verify(mill.documents())


def test_a_late_writer_is_noticed_before_anything_is_published(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "one")
    grind(planned, Inline(), mill.said.append)
    mill.store.put(mill.documents().shard("a"), b"from a run that was taken over")
    with pytest.raises(StoreError, match="changed while its partition was being made"):
        assemble_one(mill.conversion(), planned, mill.documents().asset, {})
    mill.convert()
    assert mill.ground == ["a"]


def test_a_receipt_of_an_earlier_run_is_never_taken_for_this_ones(mill: Mill) -> None:
    mill.raw_shards(2)
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(2))
    mill.raw("a.jsonl.gz", b"torn")
    planned = plan(mill.conversion(), mill.lake, "next")
    assert planned.items == 1
    assert grind(planned, Inline(), mill.said.append).failed
    assert mill.store.head(mill.documents().receipt("a")) is None
    with pytest.raises(DataError, match=r"a\.jsonl\.gz"):
        assemble_one(mill.conversion(), planned, mill.documents().asset, {})


def test_a_receipt_that_came_too_late_is_judged_by_its_object(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    row = mill.table(mill.documents())["a"]
    leave_receipt(mill.store, mill.documents(), Receipt(row, {}, {}))
    before = mill.tree()
    mill.convert()
    assert mill.ground == []
    assert {**before, **mill.tree()} == before
    assert not list(mill.store.list(mill.documents().receipts))


def test_many_threads_on_one_partition_leave_one_good_ledger(mill: Mill) -> None:
    mill.raw_shards(6, rows=3)
    gate = threading.Barrier(4)

    def run(number: int) -> str:
        gate.wait()
        for attempt in range(20):  # the last claim may find an object of an earlier run's: then it is tried again
            try:
                step = ConversionStep(mill.source(), SNAPSHOT, SHELVES)
                make(step, mill.lake, Inline(), f"thread-{number}-{attempt}", mill.said.append)
            except Superseded:
                return "superseded"
            except StoreError:
                continue
            return "done"
        return "never done"

    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(run, range(4)))
    assert "done" in ends
    assert set(ends) <= {"done", "superseded"}
    mill.convert()
    mill.verify(mill.documents())
    assert read_ledger(mill.store, mill.documents())[0].totals["rows"] == 18


def test_a_failing_shard_leaves_the_others_done_and_no_ledger(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.raw("b.jsonl.gz", b"no gzip")
    with pytest.raises(DataError, match=r"1 of 3 shards failed; the others are done(.|\n)*b\.jsonl\.gz"):
        mill.convert()
    assert mill.store.head(mill.documents().ledger) is None
    assert mill.store.head(mill.documents().shard("b")) is None
    mill.raw("b.jsonl.gz", make_documents(10, start=10))
    mill.convert()
    assert mill.ground == ["b"]


def test_a_failing_rebuild_leaves_the_old_ledger_the_truth(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.store.read(mill.documents().ledger)
    mill.raw("b.jsonl.gz", b"no gzip")
    with pytest.raises(GristmillError):
        mill.convert()
    assert mill.store.read(mill.documents().ledger) == before
    for shard in mill.table(mill.documents()).values():
        assert mill.store.head(mill.documents().shard(shard.name)) is not None
