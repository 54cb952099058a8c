"""Making partitions: what is kept, what is ground again, and what becomes of runs that are broken off or meet."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from counted import everywhere, journey
from msgspec import structs
from steered import before, before_any
from testkit import Mill, Stopping, make_documents

from gristmill.errors import Conflict, DataError, GristmillError, RecipeError, StoreError, Superseded
from gristmill.execution.claim import claim_token
from gristmill.execution.commit import Assembled, claim_and_plan, publish_partition, release_claim
from gristmill.execution.runner import Inline
from gristmill.execution.step import StoredPlan, assemble_one, grind, plan, publish_one
from gristmill.execution.survey import survey_step
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.receipts import Receipt, read_run_note


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
    assert [row.name for row in read_ledger(mill.store, mill.documents())[1]] == ["a", "b", "c"]


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
    (found,) = survey_step(mill.conversion(), mill.store)
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


def test_a_snapshot_that_never_was_is_an_error(mill: Mill) -> None:
    with pytest.raises(DataError, match=r"put them under sources/pages/raw/2024/"):
        mill.convert()


@pytest.mark.slow
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
    mill.convert()
    assert mill.ground == []  # the raw objects of the first run are known as well
    with pytest.raises(KeyboardInterrupt):
        mill.tag("words-1", engine=Stopping(after))
    mill.tag("words-1")
    assert len(mill.ground) == 5 - after
    journey(mill)
    assert mill.tree() == other.tree()
    assert not list(mill.store.list(mill.documents().receipts_folder))


def test_what_lies_in_a_partition_and_is_named_by_no_ledger_is_removed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.store.put(mill.documents().shard("stray"), b"")
    mill.convert()
    assert mill.store.head(mill.documents().shard("stray")) is None


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
    assert mill.store.head(mill.documents().receipt_path("a")) is None
    with pytest.raises(DataError, match=r"a\.jsonl\.gz"):
        assemble_one(mill.conversion(), planned, mill.documents().asset, {})


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


def ready(mill: Mill, token: str = "one") -> tuple[StoredPlan, str, Assembled]:
    """A run over two shards that only has to publish."""
    mill.raw_shards(2)
    asset = mill.documents().asset
    planned = plan(mill.conversion(), mill.lake, token)
    grind(planned, Inline(), mill.said.append)
    return planned, asset, assemble_one(mill.conversion(), planned, asset, {})


def test_a_late_writer_of_the_same_size_is_noticed_too(mill: Mill) -> None:
    planned, asset, _ = ready(mill)
    path = mill.documents().shard("a")
    mill.store.put(path, bytes(len(mill.store.read(path))))
    with pytest.raises(StoreError, match="changed while its partition was being made"):
        assemble_one(mill.conversion(), planned, asset, {})


@pytest.mark.parametrize("what", ["table", "ledger"])
def test_a_table_or_a_head_that_another_run_put_meanwhile_is_never_overwritten(mill: Mill, what: str) -> None:
    planned, asset, assembled = ready(mill)
    path = getattr(mill.documents(), what)
    mill.store.put(path, b"theirs")
    with pytest.raises(Conflict):
        publish_one(planned, asset, assembled)
    assert mill.store.read(path) == b"theirs"


def test_a_run_that_ends_leaves_the_claim_and_the_receipts_of_a_newer_one(mill: Mill) -> None:
    planned, asset, _ = ready(mill)
    where = mill.documents()
    mill.store.put(where.claim_path, b'{"token":"newer"}')
    before = mill.stamps()
    release_claim(mill.store, planned.partition(asset))
    assert mill.stamps() == before
    mill.store.put(where.claim_path, b'{"token":"one"}')
    release_claim(mill.store, planned.partition(asset))
    assert list(mill.store.list(where.receipts_folder)) == []


def test_a_receipt_that_names_an_object_of_another_partition_is_not_published(mill: Mill) -> None:
    mill.raw_shards(1)
    where, step = mill.documents(), mill.conversion()
    planned = plan(step, mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    before = mill.store.read(where.shard("a"))
    mill.store.delete([f"{where.receipts_folder}.ground-run.gz"])  # as a killed run leaves it: each receipt is read
    receipt = msgspec.json.decode(mill.store.read(where.receipt_path("a")), type=Receipt)
    raw = "sources/pages/raw/2024/a.jsonl.gz"
    row = msgspec.structs.replace(receipt.row, extra={"objects": {raw: ["0" * 64, 1]}})
    mill.store.put(where.receipt_path("a"), as_json(msgspec.structs.replace(receipt, row=row)))
    with pytest.raises(DataError, match=f"v0/documents .2024.: a receipt names {raw}, which is not of it; run again"):
        publish_one(planned, where.asset, assemble_one(step, planned, where.asset, {}))
    assert mill.store.read(where.shard("a")) == before
    assert mill.store.head(where.ledger) is None


def test_what_an_older_run_publishes_before_the_claim_is_seen_after_it(mill: Mill) -> None:
    older, asset, assembled = ready(mill, "older")
    (target,) = mill.conversion().plan(mill.store).targets
    newer = mill.lake.store()
    before(newer, "put_if", target.place.claim_path, lambda: publish_one(older, asset, assembled))
    partition, todo, state = claim_and_plan(newer, target, "newer", [])
    assert (todo, partition.kept, state.head) == ([], 2, assembled.ledger)
    assert partition.head_etag == mill.stamps()[target.place.ledger]


def test_a_run_of_another_recipe_leaves_the_claim_of_the_run_at_work(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    plan(mill.conversion(), mill.lake, "at work")
    (target,) = mill.conversion().plan(mill.store).targets
    other = structs.replace(target, recipe=structs.replace(target.recipe, parameters={"other": 1}))
    with pytest.raises(RecipeError):
        claim_and_plan(mill.store, other, "other", [])
    assert claim_token(mill.store, target.place) == "at work"


def test_a_run_removes_the_unfinished_files_of_dead_writers(mill: Mill) -> None:
    mill.raw_shards(1)
    (mill.root / ".incoming").mkdir(exist_ok=True)
    (mill.root / ".incoming" / "1-0").write_bytes(b"half a shard")
    plan(mill.conversion(), mill.lake, "next")
    assert not (mill.root / ".incoming" / "1-0").exists()


def test_an_object_that_is_deleted_before_the_commit_is_noticed(mill: Mill) -> None:
    planned, asset, _ = ready(mill)
    mill.store.delete([mill.documents().shard("a")])
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: changed while its partition was being made"):
        assemble_one(mill.conversion(), planned, asset, {})


def test_a_receipt_that_is_torn_before_the_commit_is_a_store_error(mill: Mill) -> None:
    planned, asset, _ = ready(mill)
    where = mill.documents()
    mill.store.delete([entry.path for entry in mill.store.list(where.receipts_folder) if "/.ground-" in entry.path])
    mill.store.put(where.receipt_path("a"), b"torn")
    with pytest.raises(StoreError, match=r"a\.json: not a receipt .*run again"):
        assemble_one(mill.conversion(), planned, asset, {})


def test_note_table_and_head_are_put_in_this_order(mill: Mill) -> None:
    planned, asset, assembled = ready(mill)
    where, store = mill.documents(), mill.lake.store()
    there: list[list[bool]] = []

    def look() -> None:
        there.append([mill.store.head(path) is not None for path in (where.run, where.table, where.ledger)])

    for call, path in (("put_if", where.run), ("put_if", where.table), ("put_if", where.ledger)):
        before(store, call, path, look)
    publish_partition(store, planned.partition(asset), assembled)
    assert there == [[False, False, False], [True, False, False], [True, True, False]]


def test_a_table_that_is_gone_is_put_again_beside_the_same_head(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    grind(plan(mill.conversion(), mill.lake, "killed", force=True), Inline(), mill.said.append)
    mill.store.delete([mill.documents().table])
    mill.convert()
    assert mill.ground == []
    assert sorted(mill.table(mill.documents())) == ["a", "b"]


def test_a_run_that_was_taken_over_does_not_even_write_its_note(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    where = mill.attributes("words-1")
    mill.store.put(where.shard("a"), mill.store.read(where.shard("a")))  # the same bytes, another etag
    planned = plan(mill.tagging("words-1"), mill.lake, "older")
    assembled = assemble_one(mill.tagging("words-1"), planned, where.asset, {})
    note = mill.store.read(where.run)
    mill.store.put(where.claim_path, b'{"token":"newer"}')
    with pytest.raises(Superseded):
        publish_one(planned, where.asset, assembled)
    assert mill.store.read(where.run) == note


def test_strays_that_another_run_may_read_are_noted_and_go_when_it_has_ended(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    where, reader = mill.documents(), mill.attributes("words-1")
    mill.store.put(where.shard("stray"), b"")
    mill.store.put(reader.claim_path, b'{"token":"reads"}')
    mill.convert()
    assert mill.store.head(where.shard("stray")) is not None
    assert read_run_note(mill.store, where).left == (where.shard("stray"),)
    mill.store.delete([reader.claim_path])
    mill.convert()
    assert mill.store.head(where.shard("stray")) is None


def test_raw_objects_that_a_killed_run_read_are_noted_although_nothing_else_changed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.raw_shards(1)  # the same bytes, another etag
    grind(plan(mill.conversion(), mill.lake, "killed"), Inline(), mill.said.append)
    for _ in range(2):
        mill.convert()
        assert mill.ground == []


@pytest.mark.parametrize("named", [(), ("a", "b")])
def test_the_claim_goes_last_so_that_no_receipt_is_without_an_owner(mill: Mill, named: tuple[str, ...]) -> None:
    planned, asset, _ = ready(mill)
    where, store = mill.documents(), mill.lake.store()
    left: list[str] = []
    before(
        store, "delete", where.claim_path, lambda: left.extend(e.path for e in mill.store.list(where.receipts_folder))
    )
    release_claim(store, planned.partition(asset), named)
    assert left == [where.claim_path]
    assert list(mill.store.list(where.receipts_folder)) == []


def test_a_late_writer_that_sets_the_time_back_is_noticed_by_the_bytes(mill: Mill) -> None:
    planned, asset, _ = ready(mill)
    file = mill.root / mill.documents().shard("a")
    status = file.stat()
    data = file.read_bytes()
    with file.open("r+b") as opened:
        opened.write(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: changed while its partition was being made"):
        assemble_one(mill.conversion(), planned, asset, {})
    with file.open("r+b") as opened:
        opened.write(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert assemble_one(mill.conversion(), planned, asset, {}).ledger.totals["rows"] == 20


def test_a_run_that_sleeps_before_it_writes_its_note_leaves_that_of_the_newer_run(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note tells of which raw objects the shards were made: of other ones, `verify` would tell a change."""
    mill.raw_shards(2)
    notes: list[bytes] = []

    def newer() -> None:
        mill.raw("a.jsonl.gz", make_documents(7, start=500))
        mill.convert()
        notes.append(mill.store.read(mill.documents().run))

    before_any(monkeypatch, "put_if", mill.documents().run, newer)
    with pytest.raises(Superseded):
        mill.convert()
    assert [mill.store.read(mill.documents().run)] == notes
