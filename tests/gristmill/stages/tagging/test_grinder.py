from dataclasses import replace
from typing import Any

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, lines, make_documents

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.ledger.receipts import read_receipts
from gristmill.stages.tagging.step import TaggingStep


def told(mill: Mill, word: str, shard: str = "b") -> None:
    """Three shards of five rows; one text, row 2 of shard b, tells the faulty tagger what to do."""
    for number, name in enumerate("abc"):
        rows = make_documents(5, start=number * 5)
        if name == shard:
            rows[2]["text"] = f"{word} {rows[2]['text']}"
        mill.raw(f"{name}.jsonl.gz", rows)
    mill.convert()


def attributes(mill: Mill, name: str, shard: str) -> list[dict[str, Any]]:
    return [row["attributes"] for row in mill.rows(mill.attributes(name).shard(shard))]


def test_labels_are_written_as_spans_of_the_text(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.convert()
    mill.tag("words-1")
    english, french = mill.rows(mill.attributes("words-1").shard("a"))
    assert english == {
        "id": "doc-00000",
        "source": "pages",
        "attributes": {
            "words-1__count": [[0, 4, 1.0]],
            "words-1__first": [[0, 4, 1.0]],
            "words-1__silent": [[0, 4, 1.0]],
        },
    }
    assert french["attributes"] == {"words-1__count": [[0, 9, 2.0]], "words-1__first": [[0, 4, 1.0]]}


def test_spans_count_code_points_and_not_bytes(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [{"id": "x", "text": "né 語", "source": "pages"}])
    mill.convert()
    mill.tag("words-1")
    (row,) = attributes(mill, "words-1", "a")
    assert row["words-1__first"] == [[0, 2, 1.0]]
    assert row["words-1__count"] == [[0, 4, 2.0]]


FAULTS = {
    "NAN": r"b\.jsonl\.gz: .*'faulty-1' on row 2 \(id 'doc-00007'\): label 'label': a score of nan",
    "OUTSIDE": r"b\.jsonl\.gz: .*'faulty-1' on row 2 \(id 'doc-00007'\): label 'label': a span \[0, 23\) in a text of",
    "WORD": r"b\.jsonl\.gz: .*'faulty-1' on row 2 \(id 'doc-00007'\): label 'label': 'high' is not a number",
    "FEWER": r"b\.jsonl\.gz: rows 0 to 4 \(ids 'doc-00005' to 'doc-00009'\): tagger 'faulty-1': 2 labels 'label' for 5",
    "RAISE": r"in the recipe's own code:\nshard b:\nTraceback(.|\n)*faulty\.py(.|\n)*LookupError: doc-00007",
    "PANIC": r"in the recipe's own code:\nshard b:\nTraceback(.|\n)*faulty\.py(.|\n)*PanicException: Onig",
    "STOP": r"in the recipe's own code:\nshard b:\nTraceback(.|\n)*faulty\.py(.|\n)*SystemExit: 0",
    "CLOSE": r"in the recipe's own code:\nshard b:\nTraceback(.|\n)*faulty\.py(.|\n)*GeneratorExit",
    "GROUP": r"in the recipe's own code:\nshard b:\n(.|\n)*faulty\.py(.|\n)*BaseExceptionGroup: some",
    "SURROGATE": r"in the recipe's own code:\nshard b:\nTraceback(.|\n)*LookupError: \\ud800 alone",
}


@pytest.mark.parametrize("word", FAULTS)
def test_a_tagger_that_says_nonsense_fails_its_shard_by_name_and_no_other(mill: Mill, word: str) -> None:
    told(mill, word)
    with pytest.raises(DataError, match=FAULTS[word]):
        mill.tag("faulty-1")
    where = mill.attributes("faulty-1")
    assert mill.store.head(where.ledger) is None
    assert [mill.store.head(where.shard(name)) is not None for name in "abc"] == [True, False, True]
    told(mill, "word")
    mill.tag("faulty-1")
    assert mill.ground == ["b"]


@pytest.mark.parametrize("word", ["RAISE", "PANIC", "STOP", "GROUP"])
def test_the_document_that_a_tagger_by_batches_raises_on_is_named(mill: Mill, word: str) -> None:
    told(mill, word)
    with pytest.raises(DataError, match=r"b\.jsonl\.gz: tagger 'faulty-1' failed on row 2 \(id 'doc-00007'\); mend"):
        mill.tag("faulty-1")


def test_a_tagger_that_changes_what_all_share_fails_and_the_others_are_made(mill: Mill) -> None:
    told(mill, "CHANGE")
    with pytest.raises(DataError, match=r"'faulty-1' failed on row 2 \(id 'doc-00007'\)"):
        mill.tag("faulty-1", "words-1")
    mill.tag("words-1")
    assert mill.ground == []


def test_a_bool_is_written_as_a_number(mill: Mill) -> None:
    told(mill, "TRUE")
    mill.tag("faulty-1")
    assert attributes(mill, "faulty-1", "b")[2] == {"faulty-1__label": [[0, 19, 1]]}


def test_a_failing_set_leaves_the_others_of_its_run_ground(mill: Mill) -> None:
    told(mill, "RAISE")
    with pytest.raises(DataError, match="LookupError"):
        mill.tag("faulty-1", "words-1")
    assert mill.store.head(mill.attributes("faulty-1").shard("b")) is None
    assert mill.store.head(mill.attributes("words-1").shard("b")) is not None
    assert list((mill.root / ".incoming").iterdir()) == []
    mill.tag("words-1")
    assert mill.ground == []


def test_a_store_that_does_not_answer_fails_all_sets_and_is_no_fault_of_the_tagger(mill: Mill) -> None:
    told(mill, "STORE")
    with pytest.raises(StoreError, match="the lake does not answer"):
        mill.tag("faulty-1", "words-1")
    assert mill.store.head(mill.attributes("words-1").shard("b")) is None
    assert list((mill.root / ".incoming").iterdir()) == []


@pytest.mark.slow
def test_what_a_tagger_prints_harms_nothing(mill: Mill) -> None:
    told(mill, "PRINT")
    pool = LocalPool(2, small=0)
    try:
        assert mill.tag("faulty-1", engine=pool).totals["rows"] == 15
    finally:
        pool.close()


def test_documents_that_were_changed_by_hand_are_a_store_error_and_leave_nothing(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    shard = mill.documents().shard("a")
    mill.store.put(shard, mill.store.read(mill.documents().shard("b")))
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: not the object that its ledger names"):
        mill.tag("words-1")
    assert mill.store.head(mill.attributes("words-1").shard("a")) is None


def test_another_recipe_in_the_worker_than_in_the_run_is_refused(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    (tagger,) = mill.tagging("words-1").taggers
    changed = replace(tagger, parameters={"threshold": 2})
    with pytest.raises(RecipeError, match="another recipe than the run"):
        mill.make(TaggingStep("pages", "v0", SNAPSHOT, (changed,), SHELVES))


def test_a_shard_of_several_blocks_has_the_ids_and_rows_of_all_of_them(mill: Mill) -> None:
    rows = make_documents(3)
    for number, each in enumerate(rows):
        each["text"] = f"{number} {'x' * (3 << 20)}"  # two blocks: rows 0 and 1, and row 2
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    mill.tag("words-1")
    assert mill.table(mill.attributes("words-1"))["a"].ids == mill.table(mill.documents())["a"].ids
    with pytest.raises(DataError, match=r"'picky-1' on row 2 \(id 'doc-00002'\): LookupError"):
        mill.tag("picky-1")


@pytest.mark.parametrize(
    ("words", "made"), [(["RAISE"] * 6, ()), (["RAISE", "", "RAISE", "RAISE", "RAISE", "RAISE"], ("page-1-of-six",))]
)
def test_a_set_that_fails_alike_in_its_first_three_shards_is_stopped_and_the_others_are_made(
    mill: Mill, words: list[str], made: tuple[str, ...]
) -> None:
    names = [f"page-{number}-of-six" for number in range(6)]  # words that no path of a checkout has
    for number, (name, word) in enumerate(zip(names, words, strict=True)):
        row = {
            "id": f"{number}",
            "text": f"{word} {'long ' * (9 - number)}",
            "source": "pages",
        }  # the longest come first
        mill.raw(f"{name}.jsonl", lines([row]))
    mill.convert()
    left = "5 of 6 shards failed in the recipe's own code:" if made else "3 of 6 .*; the other 3 were not ground:"
    with pytest.raises(DataError, match=left):
        mill.tag("faulty-1", "words-1")
    assert sorted(mill.ground) == sorted(names)
    receipts = [each.row.name for each in read_receipts(mill.store, mill.attributes("faulty-1"))]
    assert tuple(receipts) == made
    assert {each.row.name for each in read_receipts(mill.store, mill.attributes("words-1"))} == set(names)
    assert mill.tag("words-1").totals["rows"] == 6
    assert mill.ground == []
