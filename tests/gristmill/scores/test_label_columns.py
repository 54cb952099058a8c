from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from labelrows import write_labels, write_rows
from testkit import Mill
from wholelake import WORDS

from gristmill.lake.ledger.derived import columns_folder, columns_path
from gristmill.scores import label_columns
from gristmill.scores.column_file import open_columns
from gristmill.scores.label_columns import make_columns

KINDS = {"share": "score", "found": "spans", "en*": "score"}


def made(mill: Mill, labels: list[dict[str, Any]], kinds: dict[str, str] | None = KINDS) -> Any:
    shard = write_labels(mill, WORDS, "a", labels)
    make_columns(mill.store, WORDS, shard, kinds)
    return pq.read_table(Path(mill.root) / columns_path(WORDS, "a"))


def test_scores_and_spans_are_columns_row_by_row(whole: Mill) -> None:
    spans = [[0, 4, 0.5], [6, 7, 0.25]]
    table = made(whole, [{"words-1__share": 0.5, "words-1__found": spans}, {"words-1__found": []}, {}])
    assert table.to_pydict() == {
        "id": ["doc-00000", "doc-00001", "doc-00002"],
        "source": ["pages"] * 3,
        "row": [0, 1, 2],
        "words-1__found__spans": [2, 0, None],
        "words-1__found__characters": [5, 0, None],
        "words-1__found__score": [0.5, None, None],
        "words-1__share": [0.5, None, None],
    }


def test_a_label_that_no_tagger_declares_is_spans_and_foreign_forms_are_read(whole: Mill) -> None:
    table = made(whole, [{"words-1__share": 0.5}, {"share": 1, "lang": {"en": 0.9}}], None)
    assert table.column("words-1__share__score").to_pylist() == [0.5, 1.0]
    assert table.column("words-1__lang__en__score").to_pylist() == [None, 0.9]


def test_characters_are_the_lengths_of_spans_and_what_the_row_does_not_say_is_zero_or_empty(whole: Mill) -> None:
    """Two spans of 4 have 2 characters in common: 8. A bare number does not say how long the text is: 0."""
    shard = write_rows(
        whole,
        WORDS,
        "a",
        [b'{"id":"1","source":"web","attributes":{"found":[[0,4,1.0],[2,6,1.0]]}}', b'{"id":"2","found":0.5}'],
    )
    make_columns(whole.store, WORDS, shard, KINDS)
    table = pq.read_table(Path(whole.root) / columns_path(WORDS, "a"))
    assert table.column("source").to_pylist() == ["web", ""]
    assert table.column("words-1__found__characters").to_pylist() == [8, 0]
    assert table.column("words-1__found__spans").to_pylist() == [2, 1]


def test_chunks_give_what_the_whole_gives(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [{"words-1__share": n / 8, **({f"words-1__en{n}": 1.0} if n > 4 else {})} for n in range(9)]
    before = made(whole, labels)
    [path] = [entry.path for entry in whole.store.list(columns_folder(WORDS))]
    monkeypatch.setattr(label_columns, "CHUNK", 2)
    again = made(whole, labels)
    assert again.to_pydict() == before.to_pydict()
    assert again.schema.metadata == before.schema.metadata
    assert pq.ParquetFile(Path(whole.root) / path).num_row_groups == 5


def test_odd_names_stay_apart(whole: Mill) -> None:
    odd = ["id", "row", "En", "en", 'a"b;--', "<b>", "ü.x/y"]
    table = made(whole, [{f"words-1__{name}": 1.0 for name in odd}], dict.fromkeys(odd, "score"))
    assert set(table.column_names) == {"id", "source", "row", *(f"words-1__{name}" for name in odd)}


def test_of_too_many_labels_the_frequent_ones_are_kept(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_columns, "MOST_LABELS", 2)
    table = made(
        whole, [{"words-1__c": 1.0, "words-1__b": 1.0}, {"words-1__c": 1.0, "words-1__a": 1.0}], {"*": "score"}
    )
    assert table.column_names == ["id", "source", "row", "words-1__a", "words-1__c"]
    found = open_columns(whole.store, WORDS, whole.table(WORDS)["a"])
    assert found
    assert found.head.left_out == 1


def test_a_shard_without_rows_has_columns_too(whole: Mill) -> None:
    assert made(whole, []).num_rows == 0
