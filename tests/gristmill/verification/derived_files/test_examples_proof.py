import json
from collections.abc import Callable
from typing import Any

import pytest
from countedreads import CountedReads
from labelrows import write_rows
from lies import SET, edit
from testkit import Mill, packed
from wholelake import DOCUMENTS, WORDS, table

from gristmill.lake.ledger.derived import columns_path, examples_path
from gristmill.scores.described import describe_set
from gristmill.scores.examples import write_examples
from gristmill.verification.attributes import attribute_findings

pytestmark = pytest.mark.slow

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def with_examples(mill: Mill) -> None:
    shards = table(mill, WORDS)
    write_examples(mill.store, describe_set(mill.store, WORDS, shards, KINDS), shards)


def found(mill: Mill) -> list[str]:
    return [str(each) for each in attribute_findings(mill.store, WORDS, DOCUMENTS, mill.said.append)]


def reads(mill: Mill) -> list[int]:
    """How often an audit of the set reads shards a and b of its documents, and shards a and b of itself."""
    store = CountedReads(mill.store)
    assert list(attribute_findings(store, WORDS, DOCUMENTS, mill.said.append)) == []
    return [store.read_objects.count(where.shard(name)) for where in (DOCUMENTS, WORDS) for name in "ab"]


def test_examples_cost_no_reading_of_their_own(whole: Mill) -> None:
    assert reads(whole) == [1, 1, 1, 1]
    with_examples(whole)
    assert reads(whole) == [1, 1, 2, 2]  # columns are made again from the set alone
    whole.store.delete([columns_path(WORDS, name) for name in "ab"])
    assert reads(whole) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            b'"excerpt":"word word word word word"',
            b'"excerpt":"word word word word lies"',
            "count is not what shard a, row 4",
        ),
        (b'"value":5.0,"shard":"a","row":4', b'"value":6.0,"shard":"a","row":4', "count is not what shard a, row 4"),
        (b'"row":4', b'"row":40', "count is not what shard a, row 40 (id 'doc-00004')"),
        (b'"id":"doc-00004"', b'"id":"doc-00005"', "count is not what shard a, row 4 (id 'doc-00005')"),
        (b'"shard":"a","row":4', b'"shard":"z","row":4', "count is not what shard z, row 4"),
        (b'"marks":[0,4]', b'"marks":[0,3]', "first is not what shard"),
    ],
)
def test_an_example_that_its_document_does_not_give_is_found(whole: Mill, old: bytes, new: bytes, told: str) -> None:
    with_examples(whole)
    edit(whole, examples_path(WORDS), old, new)
    finding = found(whole)[0]
    assert finding.startswith(f"{examples_path(WORDS)}: its example of {told}")


def test_a_false_example_of_a_shard_with_another_damage_is_found_too(whole: Mill) -> None:
    with_examples(whole)
    edit(whole, examples_path(WORDS), b'"excerpt":"word word word word word"', b'"excerpt":"word lies"')
    whole.store.put(SET, packed(whole.lines(SET)))
    assert [each.partition(" is not what shard a, row 4")[0].rpartition(": ")[2] for each in found(whole)][-1] == (
        "its example of count"
    )
    assert any(f"{SET}: its sha256 is" in each for each in found(whole))


def test_examples_whose_rows_cannot_be_reached_are_not_called_false(whole: Mill) -> None:
    with_examples(whole)
    whole.store.put(SET, packed(whole.lines(SET)[:1]))
    whole.store.delete([columns_path(WORDS, "a")])
    assert found(whole)
    assert not [each for each in found(whole) if "example" in each]


def test_the_excerpt_of_a_number_without_span_begins_with_the_text(whole: Mill) -> None:
    labels = [{"id": f"doc-{n:05d}", "source": "pages", "attributes": {"words-1__first": 3}} for n in range(20)]
    write_rows(whole, WORDS, "a", [json.dumps(each).encode() for each in labels])
    with_examples(whole)
    assert b'"marks":[0,0]' in whole.store.read(examples_path(WORDS))
    assert found(whole) == []


def restated(mill: Mill, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[str]:
    """The findings on the file with other examples."""
    file = json.loads(mill.store.read(examples_path(WORDS)))
    mill.store.put(examples_path(WORDS), json.dumps({**file, "examples": change(file["examples"])}).encode())
    return found(mill)


def test_examples_that_are_not_the_extremes_or_lack_one_are_found(whole: Mill) -> None:
    with_examples(whole)
    assert restated(whole, lambda examples: examples) == []
    [lacks] = restated(whole, lambda examples: examples[1:])
    assert "it lacks 1 examples of the extremes of its set" in lacks
    with_examples(whole)
    [other] = restated(whole, lambda examples: [{**each, "end": "highest"} for each in examples])
    assert "its examples are not the extremes of the columns of its set" in other
    whole.store.delete([columns_path(WORDS, "a")])
    whole.said.clear()
    assert found(whole) == []
    assert "not proven to be the extremes: columns of its set are missing" in whole.said[-1]
