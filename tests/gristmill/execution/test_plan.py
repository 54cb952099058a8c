import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
from counted import EVEN, everywhere, journey
from msgspec.structs import replace
from testkit import SHELVES, SNAPSHOT, Mill, lines, make_documents

from gristmill.errors import RecipeError, StoreError
from gristmill.execution.plan import Target, Want, is_finished, plan_partition_changes, read_partition_state
from gristmill.execution.survey import survey_step
from gristmill.lake.address import raw_folder
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.model import TableDigest, Upstream
from gristmill.lake.ledger.receipts import Receipt, leave_receipt, read_run_note
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.conversion import step as conversion_step
from gristmill.stages.mixing.step import stream_step


def test_a_table_edited_by_hand_is_made_again_and_not_believed(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    where = mill.documents()
    table = gzip.decompress(mill.store.read(where.table)).replace(b'"rows":10', b'"rows":9')
    mill.store.put(where.table, gzip.compress(table, mtime=0))
    mill.convert()
    assert mill.ground == ["a", "b"]
    assert mill.tree() == before


def test_a_run_that_fell_between_table_and_head_is_taken_up(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    head = mill.store.read(mill.documents().ledger)
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    mill.convert()
    after = mill.tree()
    mill.store.put(mill.documents().ledger, head)
    mill.store.put(mill.documents().claim_path, b'{"token":"killed"}')
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


def test_a_shard_that_was_deleted_or_changed_by_hand_is_ground_again(mill: Mill) -> None:
    mill.raw_shards(3)
    journey(mill)
    before = mill.tree()
    mill.store.delete([mill.documents().shard("a"), mill.attributes("words-1").shard("b")])
    mill.store.put(mill.stream().shard("c"), b"by hand")
    mill.store.delete([mill.documents("v1").index("a")])
    assert journey(mill) == {"v0": ["a"], "words": ["b"], "v1": ["a"], "mix": ["c"]}
    assert mill.tree() == before


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


def test_a_draft_replaces_nothing_that_was_made_by_no_draft_not_even_in_two_steps(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    mill.mix(EVEN)
    before = mill.stamps()
    marked = stream_step(Mix(name="blend", streams=(EVEN,), draft=True), "pages", SNAPSHOT, SHELVES)
    assert [found.finished for found in survey_step(marked, mill.store)] == [True]
    mill.mix(EVEN, draft=True)  # the same recipe, now marked: nothing to do
    assert mill.stamps() == before
    with pytest.raises(RecipeError, match="a draft replaces only what a draft made"):
        mill.mix(Stream(source="pages", version="v1"), draft=True)
    assert mill.stamps() == before


def test_a_good_draft_is_protected_once_its_mark_is_removed(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    mill.mix(EVEN, draft=True)
    mill.mix(EVEN)
    assert mill.ground == []
    with pytest.raises(RecipeError, match="a draft replaces only what a draft made"):
        mill.mix(Stream(source="pages", version="v1"), draft=True)


def test_a_receipt_that_came_too_late_is_judged_by_its_object(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    row = mill.table(mill.documents())["a"]
    leave_receipt(mill.store, mill.documents(), "older", Receipt(row, {}, {}))
    before = mill.tree()
    mill.convert()
    assert mill.ground == []
    assert {**before, **mill.tree()} == before
    assert not list(mill.store.list(mill.documents().receipts_folder))


def target_of(mill: Mill) -> Target:
    (target,) = mill.conversion().plan(mill.store).targets
    return target


def test_a_receipt_wins_over_the_tables_row_for_it_is_newer(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    where = mill.documents()
    row = replace(mill.table(where)["a"], counts={"newer": 1})
    leave_receipt(mill.store, where, "older", Receipt(row))
    state = read_partition_state(mill.store, where)
    assert state.receipts["a"].row == row
    assert state.receipts["b"].row == mill.table(where)["b"]
    assert [found.counts for found in state.table] == [{}, {}]


def test_a_shard_to_grind_keeps_a_partition_from_being_finished(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    target = target_of(mill)
    state = read_partition_state(mill.store, target.place)
    keep, todo, _ = plan_partition_changes(state, target, mill.store)
    assert (len(keep), todo) == (2, [])
    assert is_finished(state, target, keep, todo)
    assert not is_finished(state, target, keep, [Want("c", None)])


def test_another_recipe_of_the_same_name_is_refused_before_anything_is_planned(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    target = target_of(mill)
    state = read_partition_state(mill.store, target.place)
    other = replace(target, recipe=replace(target.recipe, parameters={"other": 1}))
    with pytest.raises(RecipeError, match="other was absent, is 1"):
        plan_partition_changes(state, other, mill.store)
    draft = replace(other, recipe=replace(other.recipe, draft=True))
    with pytest.raises(RecipeError, match="a draft replaces only what a draft made"):
        plan_partition_changes(state, draft, mill.store)


def rewrite_unseen(file: Path, at: int = -20) -> bytes:
    """Flips a bit in place, and sets the time back: size, time and inode stay. Returns the bytes before."""
    status, before = file.stat(), file.read_bytes()
    with file.open("r+b") as opened:
        opened.seek(at, os.SEEK_END)
        opened.write(bytes([before[at] ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    now = file.stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (status.st_size, status.st_mtime_ns, status.st_ino)
    return before


def test_a_shard_that_was_rewritten_in_place_with_its_time_set_back_is_ground_again(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    path = mill.documents().shard("a")
    before = rewrite_unseen(mill.root / path)
    mill.convert()
    assert mill.ground == ["a"]
    assert mill.store.read(path) == before


def test_raw_data_that_was_rewritten_in_place_with_its_time_set_back_is_read_again(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.raw("a.jsonl.gz", gzip.compress(lines(make_documents(10, start=50)), 0, mtime=0))  # stored, not packed
    mill.convert()
    name = mill.root / raw_folder("pages", "2024") / "a.jsonl.gz"
    data = name.read_bytes()
    other = gzip.compress(lines(make_documents(10, start=90)), 0, mtime=0)
    assert len(other) == len(data)
    status = name.stat()
    with name.open("r+b") as opened:
        opened.write(other)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))
    mill.convert()
    assert mill.ground == ["a"]
    assert mill.ids(mill.documents(), "a")[0] == "doc-00090"


def test_another_ctime_alone_changes_nothing_and_is_not_read_twice(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    (mill.root / mill.documents().shard("a")).chmod(0o640)
    (mill.root / raw_folder("pages", "2024") / "b.jsonl.gz").chmod(0o640)
    mill.convert()
    assert mill.ground == []
    assert mill.tree() == before
    recorded = read_run_note(mill.store, mill.documents())
    raw = mill.store.head(raw_folder("pages", "2024") + "b.jsonl.gz")
    assert raw is not None
    assert recorded.raw["b.jsonl.gz"].same(raw)
    assert recorded.raw["b.jsonl.gz"].changed == raw.changed


def test_more_bytes_than_planning_should_read_are_left_to_the_workers(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    (mill.root / raw_folder("pages", "2024") / "b.jsonl.gz").chmod(0o640)
    monkeypatch.setattr(conversion_step, "LOOK", 9)
    mill.convert()
    assert mill.ground == ["b"]  # given to a worker, which looked and kept it
    assert mill.tree() == before
    mill.convert()
    assert mill.ground == []


def test_records_without_a_ctime_stay_valid(mill: Mill) -> None:
    """Those of 0.1: `[size, etag]` of an object, and a raw object without `changed`."""
    mill.raw_shards(2)
    mill.convert()
    note = json.loads(mill.store.read(mill.documents().run))
    note["stamps"] = {path: stamp[:2] for path, stamp in note["stamps"].items()}
    note["raw"] = {name: {k: v for k, v in raw.items() if k != "changed"} for name, raw in note["raw"].items()}
    mill.store.put(mill.documents().run, json.dumps(note).encode())
    mill.convert()
    assert mill.ground == []
    note = json.loads(mill.store.read(mill.documents().run))  # with the ctimes of today
    assert all(len(stamp) == 3 for stamp in note["stamps"].values())
    assert all(raw["changed"] > 0 for raw in note["raw"].values())

    stamps = json.loads(mill.store.read(mill.documents().run))["stamps"]
    assert all(len(stamp) == 3 for stamp in stamps.values())  # with the ctimes of today


def test_a_shard_of_the_same_size_but_other_bytes_is_ground_again(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    path = mill.documents().shard("a")
    mill.store.put(path, bytes(len(before[path])))
    mill.convert()
    assert mill.ground == ["a"]
    assert mill.tree() == before


def test_a_quarantine_that_is_gone_is_made_again(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [*make_documents(3), b"no document"])
    mill.convert()
    before = mill.tree()
    mill.store.delete([mill.documents().quarantine_path("a")])
    mill.convert()
    assert mill.ground == ["a"]
    assert mill.tree() == before


def test_a_ledger_of_other_inputs_or_another_table_is_not_finished(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    target = target_of(mill)
    state = read_partition_state(mill.store, target.place)
    keep, todo, _ = plan_partition_changes(state, target, mill.store)
    other = replace(target, upstream=(Upstream("sources/pages/raw", "2024", "other"),))
    assert not is_finished(state, other, keep, todo)
    assert state.head is not None
    renamed = replace(state, head=replace(state.head, table=TableDigest(2, "as 0.1 wrote it")))
    assert is_finished(renamed, target, keep, todo)
    moved = [replace(row, members=((0, 0), (9, 9))) for row in state.table]
    assert not is_finished(replace(renamed, table=moved), target, keep, todo)


def test_a_head_that_names_a_table_of_another_run_is_put_again(mill: Mill) -> None:
    mill.raw_shards(2)
    ledger = mill.convert()
    torn = as_json(replace(ledger, table=TableDigest(2, "0" * 64)))
    mill.store.put(mill.documents().ledger, torn)
    assert read_partition_state(mill.store, mill.documents()).table == []
    assert mill.convert() == ledger
    assert mill.ground == []
    mill.verify(mill.documents())
