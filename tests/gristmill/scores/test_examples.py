import json

import pytest
from labelrows import write_labels
from testkit import Mill
from wholelake import WORDS, rewrite, table

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.ledger.derived import examples_path
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.scores.described import describe_set
from gristmill.scores.examples import Example, has_blocklisted_example, read_examples, write_examples

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def written(mill: Mill) -> tuple[Example, ...]:
    shards = table(mill, WORDS)
    return write_examples(mill.store, describe_set(mill.store, WORDS, shards, KINDS), shards)


def listing(mill: Mill, *ids: str) -> None:
    rows = [json.dumps({"source": "pages", "id": each, "reason": "asked for"}) for each in ids]
    mill.store.put("blocklists/takedown.jsonl", "\n".join(rows).encode())


def test_examples_are_the_documents_at_the_ends(whole: Mill) -> None:
    count = [each for each in written(whole) if each.label == "count"]
    assert [(each.end, each.value, each.id, each.excerpt) for each in count[:2]] == [
        ("lowest", 1.0, "doc-00000", "word"),
        ("lowest", 1.0, "doc-00005", "word"),
    ]
    assert count[5] == Example("count", "highest", 5.0, "a", 4, "pages", "doc-00004", "word word word word word")
    first = next(each for each in written(whole) if each.label == "first")
    assert (first.end, first.marks, first.excerpt[:4]) == ("highest", (0, 4), "word")  # each row has one span
    assert read_examples(whole.store, WORDS, table(whole, WORDS)) == written(whole)


def test_a_document_that_is_taken_down_is_neither_shown_nor_written(whole: Mill) -> None:
    written(whole)
    assert not has_blocklisted_example(whole.store, WORDS, listed_pairs(whole.store))
    listing(whole, "doc-00004")
    assert has_blocklisted_example(whole.store, WORDS, listed_pairs(whole.store))
    shown = read_examples(whole.store, WORDS, table(whole, WORDS))
    assert shown
    assert "doc-00004" not in {each.id for each in shown}
    written(whole)
    assert b"doc-00004" not in whole.store.read(examples_path(WORDS))
    assert not has_blocklisted_example(whole.store, WORDS, listed_pairs(whole.store))


def test_a_blocklist_that_cannot_be_read_stops_everything(whole: Mill) -> None:
    written(whole)
    whole.store.put("blocklists/broken.jsonl", b"{")
    with pytest.raises(MalformedRow):
        read_examples(whole.store, WORDS, table(whole, WORDS))
    with pytest.raises(MalformedRow):
        written(whole)


def test_examples_of_other_shards_are_not_shown(whole: Mill) -> None:
    written(whole)
    write_labels(whole, WORDS, "a", [{"words-1__count": 1.0}] * 20)
    assert read_examples(whole.store, WORDS, table(whole, WORDS)) is None
    whole.store.put(examples_path(WORDS), b"[")
    assert read_examples(whole.store, WORDS, table(whole, WORDS)) is None
    assert has_blocklisted_example(whole.store, WORDS, set())


def test_a_set_of_other_documents_has_no_examples(whole: Mill) -> None:
    from wholelake import DOCUMENTS

    rows = [json.dumps({"id": f"new-{n}", "text": "x", "source": "pages"}).encode() for n in range(20)]
    rewrite(whole, DOCUMENTS, "a", rows)
    with pytest.raises(DataError, match="shard a is not of its documents; make it again"):
        written(whole)


def test_the_excerpt_begins_before_the_first_span(whole: Mill) -> None:
    write_labels(whole, WORDS, "a", [{"words-1__first": [[n % 5, n % 5 + 1, 1.0]] * n} for n in range(20)])
    found = [each for each in written(whole) if each.label == "first" and each.shard == "a"]
    assert found[-1].marks == (0, 1)
    assert found[-1].value == 15.0
