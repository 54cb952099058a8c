"""Why a partition is out of date, as the dry run says it of a real lake."""

import msgspec
from counted import EVEN
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import DOCUMENTS, WORDS, reseal, table

from gristmill.execution.step import Step
from gristmill.execution.survey import survey_step
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.mixing.step import stream_step


def why(mill: Mill, step: Step) -> tuple[str, ...]:
    (found,) = survey_step(step, mill.store)
    return found.why


def test_nothing_is_said_of_what_is_up_to_date(mill: Mill) -> None:
    mill.raw_shards(1)
    assert why(mill, mill.conversion()) == ("never made",)
    mill.convert()
    assert why(mill, mill.conversion()) == ()


def test_new_changed_and_vanished_raw_objects_are_told_apart(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    mill.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    mill.raw("x.jsonl.gz", make_documents(1, start=200))
    assert why(mill, mill.conversion()) == (
        "raw data changed: shard b",
        "new: shard x",
        "no longer has input: shard a",
    )


def test_three_shards_are_named_and_the_rest_is_counted(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    for name in "vwxyz":
        mill.raw(f"{name}.jsonl.gz", make_documents(1, start=100 * ord(name)))
    assert why(mill, mill.conversion()) == ("new: 5 shards (v, w, x and 2 more)",)


def test_a_changed_input_is_named_and_a_lost_object_is_told_from_it(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.raw("a.jsonl.gz", make_documents(1, start=100))
    mill.convert()
    mill.store.delete([mill.attributes("words-1").shard("b")])
    assert why(mill, mill.tagging("words-1")) == (
        "sources/pages/v0/documents changed: shard a",
        "its own objects are missing or changed: shard b",
    )


def test_a_changed_recipe_is_named_by_its_fields_and_not_shard_by_shard(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    mill.mix(EVEN, draft=True)
    other = Mix(name="blend", streams=(Stream(source="pages", version="v1", rate=0.5),), draft=True)
    (said,) = why(mill, stream_step(other, "pages", SNAPSHOT, SHELVES))
    assert said.startswith("the recipe changed: ")
    assert "rate" in said


def test_an_input_of_another_asset_is_named(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    (row,) = table(mill, WORDS)
    other = msgspec.structs.replace(row.inputs[0], asset="sources/pages/v9/documents")
    reseal(mill, WORDS, [msgspec.structs.replace(row, inputs=(other,))])
    assert why(mill, mill.tagging("words-1")) == (
        "sources/pages/v0/documents, sources/pages/v9/documents changed: shard a",
    )


def test_a_ledger_of_an_input_that_changed_without_its_shards_is_named(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    (row,) = table(mill, DOCUMENTS)
    reseal(mill, DOCUMENTS, [msgspec.structs.replace(row, rows=11)])
    assert why(mill, mill.tagging("words-1")) == (
        "the ledger of sources/pages/v0/documents changed; every shard is up to date",
    )


def test_a_removed_mark_of_a_draft_is_told_as_that(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    pages = Stream(source="pages", version="v0")
    mill.mix(pages, draft=True)
    step = stream_step(Mix(name="blend", streams=(pages,)), "pages", SNAPSHOT, SHELVES)
    assert why(mill, step) == ("the recipe is no draft any more; only its ledger is written, no shard is made again",)
    mill.make(step)
    assert why(mill, step) == ()
