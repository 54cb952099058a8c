"""Columns that somebody made without the shelf of the tagger have other kinds: who has the shelf makes them again."""

from testkit import Mill
from wholelake import WORDS, table

from gristmill.scores.described import describe
from gristmill.scores.quantiles import describe_sampled

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def kinds(mill: Mill, declared: dict[str, str] | None) -> tuple[int, dict[str, str]]:
    made = describe(mill.store, WORDS, table(mill, WORDS), declared)
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
