import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import DOCUMENTS, STREAM, TOKENIZER, even, make_whole, reseal, table

from gristmill.errors import DataError, RecipeError, StoreError, Superseded
from gristmill.execution.runner import Inline
from gristmill.execution.step import (
    Step,
    StoredPlan,
    assemble_one,
    grind,
    make,
    plan,
    publish_one,
    resume,
)
from gristmill.execution.survey import check_accepted
from gristmill.lake.address import Place, blocklist_path, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.open import Lake
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.token_cache.step import TokenCacheStep

OLD_PLAN = b"""{"makings": [{"place": {"asset": "sources/pages/v0/documents", "snapshot": "2024",
"ledger": "sources/pages/v0/ledgers/documents/2024.json"}, "recipe": {"name": "pages", "version": 1, "parameters": {},
"draft": false}, "upstream": [["sources/pages/raw", "2024", ""]], "token": "run-1", "head_etag": null,
"table_etag": null, "kept": 0, "todo": 1, "gone": []}], "job": {"stage": "conversion_grinder",
"lake": {"url": "lake", "options": {}}, "shelves": ["gristmill"], "spec": {"source": "pages"}}, "items": 1,
"weight": 300}"""
"""A plan as version 0.1 stored it."""


def moved(planned: StoredPlan) -> StoredPlan:
    """A plan as another process gets it."""
    return msgspec.json.decode(msgspec.json.encode(planned), type=StoredPlan)


def test_plan_grind_and_commit_may_be_three_processes(mill: Mill) -> None:
    mill.raw_shards(3)
    planned = moved(plan(mill.conversion(), mill.lake, "run"))
    assert planned.items == 3
    assert planned.weight == sum(entry.size for entry in mill.store.list("sources/pages/raw/"))
    tally = grind(moved(planned), Inline(), mill.said.append)
    assert sorted(tally.ground["sources/pages/v0/documents"]) == ["a", "b", "c"]
    asset = planned.partitions[0].place.asset
    ledger = publish_one(moved(planned), asset, assemble_one(mill.conversion(), moved(planned), asset, {"run": "run"}))
    assert ledger.totals["rows"] == 30
    mill.verify(mill.documents())
    about = json.loads(mill.store.read(mill.documents().run))["about"]
    assert about["run"] == "run"
    shards = mill.table(mill.documents()).values()
    grind_note = {key: value for key, value in about["grind"].items() if not key.endswith("seconds")}
    assert grind_note == {
        "assets": 1,
        "bytes read": planned.weight,
        "bytes written": sum(shard.bytes for shard in shards),
        "length written": sum(shard.length for shard in shards),
    }
    assert {"cpu seconds", "wall seconds"} == about["grind"].keys() - grind_note.keys()


def test_receipts_alone_are_enough_to_assemble(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    where = mill.documents()
    mill.store.delete([e.path for e in mill.store.list(where.receipts_folder) if "/.ground-" in e.path])
    assert assemble_one(mill.conversion(), planned, where.asset, {}).ledger.totals["rows"] == 20


def test_what_was_not_ground_cannot_be_assembled(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    with pytest.raises(StoreError, match="shard a has no receipt; run again"):
        assemble_one(mill.conversion(), planned, mill.documents().asset, {})


def test_a_grind_that_is_tried_again_does_only_the_rest(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.raw("b.jsonl.gz", b"torn")
    planned = plan(mill.conversion(), mill.lake, "run")
    assert len(grind(planned, Inline(), mill.said.append).failed) == 1
    again = grind(planned, Inline(), mill.said.append)
    assert (len(again.failed), again.ground) == (1, {})
    assert mill.said[-1].startswith("1 of 1 shards")


def test_nothing_is_visible_before_it_is_published(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    assembled = assemble_one(mill.conversion(), planned, mill.documents().asset, {})
    with pytest.raises(DataError, match="is not there yet"):
        mill.table(mill.documents())
    publish_one(planned, mill.documents().asset, assembled)
    assert sorted(mill.table(mill.documents())) == ["a", "b"]


def test_a_plan_that_was_published_cannot_be_published_again(mill: Mill) -> None:
    mill.raw_shards(1)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    asset = mill.documents().asset
    assembled = assemble_one(mill.conversion(), planned, asset, {})
    publish_one(planned, asset, assembled)
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), planned, asset, {})


def test_one_of_several_sets_is_published_when_the_other_failed(mill: Mill) -> None:
    rows = make_documents(3)
    rows[1]["text"] = "RAISE"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    planned = plan(mill.tagging("words-1", "faulty-1"), mill.lake, "run")
    tally = grind(planned, Inline(), mill.said.append)
    assert [(each.asset, each.error) for each in tally.failed] == [("sources/pages/v0/attributes/faulty-1", "crash")]
    assert len(grind(planned, Inline(), mill.said.append).failed) == 1  # the receipt of one set is not enough
    words, faulty = mill.attributes("words-1"), mill.attributes("faulty-1")
    publish_one(planned, words.asset, assemble_one(mill.tagging(), planned, words.asset, {}))
    assert mill.table(words)["a"].rows == 3
    with pytest.raises(DataError, match="LookupError: doc-00001"):
        assemble_one(mill.tagging(), planned, faulty.asset, {})
    assert mill.store.head(faulty.ledger) is None


def test_duplicate_ids_are_not_published_in_plain_python_and_the_old_ledger_stays(mill: Mill) -> None:
    mill.raw_shards(2)
    before = mill.convert()
    mill.raw("b.jsonl.gz", make_documents(10, start=9))
    with pytest.raises(DataError, match=r"v0/documents: not published: ids_unique: 1 ids occur twice; .* 'doc-00009'"):
        mill.convert()
    assert read_head(mill.store, mill.documents()) == before
    mill.raw("b.jsonl.gz", make_documents(10, start=10))
    assert mill.convert() == before


BLOCKED = Mix(name="blocked", streams=(Stream(source="pages", version="v1", blocklists=("takedowns",)),))


def block(mill: Mill) -> None:
    mill.store.put(blocklist_path("takedowns"), b'{"source": "pages", "id": "doc-00004", "reason": "asked"}\n')


def shorten(where: Place) -> Callable[[Mill], None]:
    """What was read has one shard less than it had."""
    return lambda mill: reseal(mill, where, table(mill, where)[:-1])


@pytest.mark.parametrize(
    ("check", "step", "spoil"),
    [
        ("row_alignment", lambda m: m.tagging("words-1"), shorten(DOCUMENTS)),
        ("ids_stable", lambda m: revision_step(m.source(), "v1", SNAPSHOT, SHELVES), shorten(DOCUMENTS)),
        ("blocklist_respected", lambda _: stream_step(BLOCKED, "pages", SNAPSHOT, SHELVES), block),
        (
            "cache_complete",
            lambda _: TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES),
            shorten(STREAM),
        ),
    ],
)
def test_a_blocking_check_keeps_plain_python_from_publishing(
    tmp_path: Path, whole: Path, check: str, step: Callable[[Mill], Step], spoil: Callable[[Mill], None]
) -> None:
    """Between plan and commit something changes that no shard's own work can see."""
    shutil.copytree(whole, tmp_path / "lake")
    mill = Mill(tmp_path / "lake")
    mill.store.put(blocklist_path("takedowns"), b"")
    chosen = step(mill)
    (asset,) = chosen.makes
    ledger = place(asset, SNAPSHOT).ledger
    before = mill.store.read_tagged(ledger)  # the mix with a blocklist has none yet
    planned = plan(chosen, mill.lake, "run", force=True)
    assert grind(planned, Inline(), mill.said.append).failed == []
    spoil(mill)
    assembled = assemble_one(chosen, planned, asset, {})
    assert [verdict.name for verdict in assembled.verdicts if not verdict.passed] == [check]
    with pytest.raises(DataError, match=f"^{asset}: not published: {check}: "):
        publish_one(planned, asset, assembled)
    assert mill.store.read_tagged(ledger) == before


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with one of everything, which no test changes."""
    return make_whole(tmp_path_factory.mktemp("whole") / "lake").root


def test_a_stored_plan_names_neither_the_lake_nor_the_code_that_runs(mill: Mill) -> None:
    mill.raw_shards(1)
    where = mill.documents()
    planned = plan(mill.conversion(), mill.lake, "run-1")
    forged = msgspec.structs.replace(planned.job, lake=Lake("/etc"), shelves=("gristmill", "theirs"))
    path = f"{where.receipts_folder}.planned-run-1.json"
    mill.store.put(path, msgspec.json.encode(msgspec.structs.replace(planned, job=forged)))
    assert resume(mill.lake, SHELVES, where, "run") == planned


def test_a_plan_of_another_version_is_not_resumed(mill: Mill) -> None:
    mill.raw_shards(1)
    where = mill.documents()
    planned = plan(mill.conversion(), mill.lake, "run-1")
    assert resume(mill.lake, SHELVES, where, "run") == planned
    mill.store.put(f"{where.receipts_folder}.planned-run-1.json", OLD_PLAN)
    assert resume(mill.lake, SHELVES, where, "run") is None


def test_a_stored_plan_that_names_another_partition_is_refused_and_nothing_is_written_there(mill: Mill) -> None:
    """A run writes and deletes where its plan says: beside this ledger, not beside one that a file names."""
    mill.raw_shards(1)
    where, other = mill.documents(), mill.attributes("words-1")
    planned = plan(mill.conversion(), mill.lake, "run-1")
    (partition,) = planned.partitions
    stored = f"{where.receipts_folder}.planned-run-1.json"
    forged = [
        msgspec.structs.replace(partition, place=other),
        msgspec.structs.replace(partition, place=msgspec.structs.replace(where, ledger=other.ledger)),
        msgspec.structs.replace(partition, token="another"),
    ]
    for each in forged:
        mill.store.put(stored, msgspec.json.encode(msgspec.structs.replace(planned, partitions=(partition, each))))
        with pytest.raises(DataError, match="the plan of another step; run sources/pages/v0/documents again"):
            resume(mill.lake, SHELVES, where, "run")
    mill.store.put(stored, msgspec.json.encode(planned))
    assert resume(mill.lake, SHELVES, where, "run") == planned


def test_the_plan_of_another_run_is_not_resumed_and_each_partition_has_its_own(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    planned = plan(mill.tagging("words-1", "characters-1"), mill.lake, "run-1")
    for name in ("words-1", "characters-1"):
        assert resume(mill.lake, SHELVES, mill.attributes(name), "run-1") == planned
        with pytest.raises(Superseded):
            resume(mill.lake, SHELVES, mill.attributes(name), "run-2")


def other_recipe(mill: Mill, where: Place) -> None:
    """The ledger says that another recipe of this name made the set."""
    head = json.loads(mill.store.read(where.ledger))
    head["recipe"]["parameters"]["by"] = "syllables"
    mill.store.put(where.ledger, json.dumps(head).encode())


def other_code(mill: Mill, where: Place) -> None:
    """The run's note says that other code made the set. That is found after the claim is written."""
    note = json.loads(mill.store.read(where.run))
    mill.store.put(where.run, json.dumps({**note, "codes": {"c0de": ""}}).encode())


@pytest.mark.parametrize(("change", "words"), [(other_recipe, "by was 'syllables'"), (other_code, "code")])
def test_a_set_that_is_refused_fails_alone_and_the_others_follow_a_vanished_snapshot(
    mill: Mill, change: Callable[[Mill, Place], None], words: str
) -> None:
    mill.raw_shards(1)
    mill.convert()
    step = mill.tagging("words-1", "characters-1")
    make(step, mill.lake, Inline(), "run-1", mill.said.append)
    refused, well = mill.attributes("words-1"), mill.attributes("characters-1")
    change(mill, refused)
    before = mill.store.read(refused.ledger)
    mill.store.delete([entry.path for entry in mill.store.list("sources/pages/raw/")])
    mill.make(replace(mill.conversion(), vanished=True))
    planned = moved(plan(step, mill.lake, "run-2"))
    assert [partition.place for partition in planned.partitions] == [well]
    assert [(each.asset, words in each.message) for each in planned.refused] == [(refused.asset, True)]
    for where, others in ((refused, [well]), (well, [refused])):
        assert resume(mill.lake, SHELVES, where, "run-2", others) == planned
    with pytest.raises(Superseded):
        resume(mill.lake, SHELVES, refused, "run-2")
    grind(planned, Inline(), mill.said.append)
    assert publish_one(planned, well.asset, assemble_one(step, planned, well.asset, {})).totals.get("shards", 0) == 0
    with pytest.raises(RecipeError, match=words):
        assemble_one(step, planned, refused.asset, {})
    with pytest.raises(RecipeError, match=words):
        check_accepted(mill.tagging("words-1"), mill.store)
    check_accepted(mill.tagging("characters-1"), mill.store)
    assert mill.store.read(refused.ledger) == before


def test_a_step_whose_sets_are_all_refused_is_not_planned(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    step = mill.tagging("words-1", "characters-1")
    make(step, mill.lake, Inline(), "run-1", mill.said.append)
    other_recipe(mill, mill.attributes("words-1"))
    with pytest.raises(RecipeError, match=r"words-1 .* was made by another recipe"):
        make(step, mill.lake, Inline(), "run-2", mill.said.append)
    other_recipe(mill, mill.attributes("characters-1"))
    with pytest.raises(RecipeError, match=r"(?s)words-1 .* another recipe.*characters-1 .* another recipe"):
        plan(step, mill.lake, "run-3")


def test_a_failure_of_all_sets_is_each_sets_until_a_second_attempt_mends_it(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    sets = [mill.attributes(name).asset for name in ("words-1", "characters-1")]
    planned = plan(mill.tagging("words-1", "characters-1"), mill.lake, "run")
    path = mill.documents().shard("a")
    good = mill.store.read(path)
    mill.store.put(path, b"by hand")
    assert [each.asset for each in grind(planned, Inline(), mill.said.append).failed] == [""]
    for asset in sets:
        with pytest.raises(StoreError, match=r"a\.jsonl\.gz: not the object that its ledger names"):
            assemble_one(mill.tagging(), planned, asset, {})
    mill.store.put(path, good)
    assert grind(planned, Inline(), mill.said.append).failed == []
    for asset in sets:
        assert assemble_one(mill.tagging(), planned, asset, {}).ledger.totals["rows"] == 10


def test_plain_python_publishes_no_set_if_one_failed(mill: Mill) -> None:
    rows = make_documents(3)
    rows[1]["text"] = "RAISE"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    with pytest.raises(DataError, match="LookupError: doc-00001"):
        mill.tag("words-1", "faulty-1")
    assert mill.store.head(mill.attributes("words-1").ledger) is None
