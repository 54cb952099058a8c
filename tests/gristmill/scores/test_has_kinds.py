"""Columns that somebody made without the shelf of the tagger have other kinds: who has the shelf makes them again."""

from testkit import Mill
from wholelake import WORDS, table

from gristmill.queries.session import run_query
from gristmill.reading.opened_lake import OpenedLake
from gristmill.scores.described import describe_set, read_described_set
from gristmill.scores.page import score_page
from gristmill.scores.quantiles import describe_sampled, label_quantiles

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def kinds(mill: Mill, declared: dict[str, str] | None) -> tuple[int, dict[str, str]]:
    made = describe_set(mill.store, WORDS, table(mill, WORDS), declared)
    return made.read, {each.name: each.kind for each in made.labels}


def test_kinds_that_no_tagger_declared_do_not_stay(whole: Mill) -> None:
    assert kinds(whole, None)[1]["count"] == "spans"
    read, found = kinds(whole, KINDS)
    assert (read, found["count"], found["first"]) == (2, "score", "spans")
    assert kinds(whole, KINDS) == (0, found)
    assert kinds(whole, None) == (0, found)


def test_samples_have_the_declared_kinds_too(whole: Mill) -> None:
    describe_sampled(whole.store, WORDS, table(whole, WORDS), None)
    describe_sampled(whole.store, WORDS, table(whole, WORDS), KINDS)
    read, found = kinds(whole, KINDS)
    assert (read, found["count"]) == (0, "score")


def test_columns_that_some_made_with_the_shelf_and_others_without_are_not_added_up(whole: Mill) -> None:
    """Shard `a` has the scores 1 to 5, four of each; counted as spans, each of the 20 rows of `b` has one."""
    a, b = table(whole, WORDS)
    describe_set(whole.store, WORDS, [a], KINDS)
    describe_set(whole.store, WORDS, [b], None)
    assert read_described_set(whole.store, WORDS, [a, b]) is None
    assert label_quantiles(whole.store, WORDS, [a, b], [0.5]) is None
    made = describe_set(whole.store, WORDS, [a, b], None)
    assert (made.read, {each.name: each.kind for each in made.labels}["count"]) == (1, "score")
    assert read_described_set(whole.store, WORDS, [a, b]) is not None


def test_a_query_without_the_shelf_reads_the_kinds_that_columns_have(whole: Mill) -> None:
    a, b = table(whole, WORDS)
    describe_set(whole.store, WORDS, [a], KINDS)
    describe_set(whole.store, WORDS, [b], None)
    with run_query(OpenedLake(str(whole.root), {}, shelves=()), "select count from pages_v0_words_1") as reader:
        assert [row["count"] for batch in reader for row in batch.to_pylist()] == [1.0, 2.0, 3.0, 4.0, 5.0] * 8


def test_a_label_that_no_tagger_declares_is_undeclared(whole: Mill) -> None:
    """`first` has one span in each row, `count` a score: a set does not tell them apart. `silent` has no rows."""
    made = describe_set(whole.store, WORDS, table(whole, WORDS), {"first": "spans"})
    page = score_page(made, [])
    assert made.undeclared == {each.name for each in made.labels} - {"first"} >= {"count"}
    assert "<td>count</td><td>undeclared</td>" in page
    assert "<td>first</td><td>spans</td>" in page
    assert "no tagger on the shelves declares it" in page
    declared = describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    assert (declared.read, declared.undeclared) == (2, frozenset())
    assert "undeclared" not in score_page(declared, [])
