import json

import pyarrow.parquet as pq
import pytest
from labelrows import write_labels
from testkit import SHELVES, Mill
from wholelake import DOCUMENTS, WORDS, table

from gristmill.lake.ledger.derived import columns_path, examples_path
from gristmill.maintenance.gc import find_run_leftovers, remove_run_leftovers
from gristmill.scores.described import describe_set
from gristmill.scores.document_columns import make_document_columns
from gristmill.scores.examples import write_examples
from gristmill.scores.label_columns import make_columns
from gristmill.verification.derived_files.findings import derived_findings

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def derived(mill: Mill) -> None:
    shards = table(mill, WORDS)
    write_examples(mill.store, describe_set(mill.store, WORDS, shards, KINDS), shards)


def found(mill: Mill, said: list[str]) -> list[str]:
    return [str(each) for each in derived_findings(mill.store, WORDS, table(mill, WORDS), said.append, SHELVES)]


def collected(mill: Mill) -> list[str]:
    strays = find_run_leftovers(mill.store, mill.said.append)
    return [entry.path for stray in strays for entry in stray.entries if remove_run_leftovers(mill.store, stray)]


def test_what_is_derived_and_right_is_no_finding_and_no_garbage(whole: Mill) -> None:
    derived(whole)
    said: list[str] = []
    assert (found(whole, said), said, collected(whole)) == ([], [], [])


def test_columns_with_other_values_are_found(whole: Mill) -> None:
    derived(whole)
    path = whole.root / columns_path(WORDS, "a")
    right = pq.read_table(path)
    count = right.column("words-1__count").to_pylist()
    wrong = right.set_column(right.column_names.index("words-1__count"), "words-1__count", [[count[0] + 1, *count[1:]]])
    pq.write_table(wrong.cast(right.schema), path)
    [finding] = found(whole, [])
    assert "2024.columns/a.parquet" in finding
    assert "its values are not those of its shard" in finding


@pytest.mark.parametrize("stated", [None, {"count": "spans", "first": "spans"}, {"count": "score", "first": "score"}])
def test_columns_that_state_other_kinds_than_the_tagger_declares_are_found(
    whole: Mill, stated: dict[str, str] | None
) -> None:
    """They have the values of their shard: only the tagger tells that `count` is a score and `first` spans."""
    shard, _ = table(whole, WORDS)
    make_columns(whole.store, WORDS, shard, stated)
    [finding] = found(whole, [])
    path = columns_path(WORDS, "a")
    assert finding.startswith(f"{path}: its labels have other kinds than their tagger declares")
    whole.store.delete([path])
    derived(whole)
    assert found(whole, []) == []


def test_kinds_that_no_recipe_on_the_shelves_declares_are_told(whole: Mill) -> None:
    derived(whole)
    said: list[str] = []
    assert list(derived_findings(whole.store, WORDS, table(whole, WORDS), said.append, ("gristmill",))) == []
    [note] = said
    assert note.endswith("not proven, the kinds of the labels of words-1: no recipe on the shelves declares them")


def test_columns_of_no_shard_are_told_and_removed(whole: Mill) -> None:
    derived(whole)
    whole.store.put(columns_path(WORDS, "gone"), whole.store.read(columns_path(WORDS, "a")))
    write_labels(whole, WORDS, "b", [{}] * 20, first=20)
    said: list[str] = []
    assert found(whole, said) == []
    assert [line.partition(": ")[0] for line in said] == [columns_path(WORDS, "b"), columns_path(WORDS, "gone")]
    assert collected(whole) == [columns_path(WORDS, "gone")]


def test_examples_of_a_document_that_is_taken_down_are_found_and_removed(whole: Mill) -> None:
    derived(whole)
    listed = {"source": "pages", "id": "doc-00004", "reason": "asked for"}
    whole.store.put("blocklists/takedown.jsonl", json.dumps(listed).encode())
    [finding] = found(whole, [])
    assert "an excerpt of a document that a blocklist names" in finding
    assert collected(whole) == [examples_path(WORDS)]
    assert found(whole, []) == []


def test_columns_of_documents_are_compared_and_those_of_no_shard_are_removed(whole: Mill) -> None:
    shards = table(whole, DOCUMENTS)
    for shard in shards:
        make_document_columns(whole.store, DOCUMENTS, shard, [("metadata.number", "BIGINT")])
    said: list[str] = []
    assert list(derived_findings(whole.store, DOCUMENTS, shards, said.append)) == []
    path = whole.root / columns_path(DOCUMENTS, "a")
    right = pq.read_table(path)
    wrong = right.set_column(right.column_names.index("bytes"), "bytes", [[1] * right.num_rows])
    pq.write_table(wrong.cast(right.schema), path)
    [finding] = derived_findings(whole.store, DOCUMENTS, shards, said.append)
    assert "2024.columns/a.parquet" in str(finding)
    stray = columns_path(DOCUMENTS, "gone")
    whole.store.put(stray, path.read_bytes())
    assert collected(whole) == [stray]
