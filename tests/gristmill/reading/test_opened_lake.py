"""A lake in a notebook: documents, labels, mixes and tokens, as one can count them."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from testkit import SNAPSHOT, Mill

from gristmill import api
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.store.open import Lake
from gristmill.reading.opened_lake import OpenedLake
from gristmill.recipes.rules import Column, field, score, spans


def span(end: int, score: float = 1.0) -> dict[str, float]:
    return {"start": 0, "end": end, "score": score}


def ids(rows: Any) -> list[int]:
    return [int(row["id"].removeprefix("doc-")) for row in rows]


def test_the_first_document_has_all_fields_and_its_place(opened: OpenedLake) -> None:
    first = next(iter(opened.documents("pages/v0", snapshots=["2024"])))
    assert first == {
        "id": "doc-00000",
        "source": "pages",
        "text": "word",
        "added": "2024-01-01T00:00:00Z",
        "created": None,
        "metadata": '{"number":0,"language":"en"}',
        "snapshot": "2024",
        "shard": "a",
        "row": 0,
    }


def test_a_document_of_two_snapshots_is_two_rows_each_with_its_own_labels(opened: OpenedLake) -> None:
    count = score("words-1__count", "words")
    rows = list(opened.documents("pages/v0", columns=["id", "snapshot", "shard", "row", count]))
    assert len(rows) == 50  # 40 and 10: joined on (source, id), the ten would be forty
    assert [row for row in rows if row["id"] == "doc-00007"] == [
        {"id": "doc-00007", "snapshot": key, "shard": "a", "row": 7, "words": 3.0} for key in ("2024", "2025")
    ]


def test_labels_have_the_kinds_that_their_tagger_declares(opened: OpenedLake) -> None:
    documents = opened.documents("pages/v0", columns=["row"], sets=["words-1"], snapshots=["2024"], limit=2)
    assert list(documents) == [
        {"row": 0, "words-1__count": 1.0, "words-1__first": [span(4)], "words-1__silent": 1.0},
        {"row": 1, "words-1__count": 2.0, "words-1__first": [span(4)], "words-1__silent": None},
    ]
    with pytest.raises(RecipeError, match="the set 'words-1' has no label 'cont'; did you mean 'count'"):
        opened.documents("pages/v0", columns=["words-1__cont"])


def test_labels_that_no_tagger_declares_are_a_map_or_what_the_caller_says(read_once: Path) -> None:
    opened = api.open_lake(str(read_once), {}, shelves=["gristmill"])
    columns: list[str | Column] = ["id", spans("words-1__first", "first")]
    documents = opened.documents("pages/v0", sets=["characters-1"], columns=columns, snapshots=["2024"])
    assert str(documents.schema.field("characters-1").type).startswith("map<string, list<")
    assert next(iter(documents)) == {
        "id": "doc-00000",
        "first": [span(4)],
        "characters-1": {"characters": [span(4, 4.0)]},
    }
    assert next(iter(opened.documents("pages/v0", columns=["words-1__count"])))["words-1__count"] == [span(4)]


def test_a_label_that_is_absent_is_null(opened: OpenedLake) -> None:
    rows = list(opened.documents("pages/v0", snapshots=["2024"], columns=["row", score("words-1__silent", "silent")]))
    assert [row["silent"] for row in rows[:3]] == [1.0, None, 1.0]


def test_metadata_are_json_or_columns_of_declared_types(opened: OpenedLake) -> None:
    columns: list[str | Column] = ["metadata", "metadata.language", field("metadata.number", "BIGINT"), "metadata.none"]
    row = list(opened.documents("pages/v0", columns=columns))[3]
    assert json.loads(row.pop("metadata")) == {"number": 3, "language": "fr"}
    assert row == {"metadata.language": "fr", "number": 3, "metadata.none": None}


def test_snapshots_shards_and_limit_choose_rows(opened: OpenedLake) -> None:
    assert ids(opened.documents("pages/v0", snapshots=["2025", "2024"], limit=12)) == [*range(10), 0, 1]
    assert ids(opened.documents("pages/v0", shards=["b"])) == list(range(20, 40))
    assert ids(opened.documents("sources/pages/v1", shards=["a"], snapshots=[SNAPSHOT]))[:3] == [2, 4, 6]
    assert len(opened.documents("pages/v0", limit=3)) == 3
    assert list(opened.documents("pages/v0", limit=0)) == []


def test_a_mix_has_its_streams_rows_with_the_labels_of_their_version(opened: OpenedLake) -> None:
    columns: list[str | Column] = ["id", "stream", "snapshot", "row", score("words-1__count", "words")]
    rows = list(opened.mix("even", columns=columns))
    assert ids(rows) == [4, 8, 12, 16, 24, 28, 32, 36]
    assert rows[5] == {"id": "doc-00028", "stream": "pages", "snapshot": "2024", "row": 1, "words": 4.0}
    assert [row["words"] for row in rows] == [number % 5 + 1 for number in ids(rows)]
    assert rows == list(opened.mix("even", snapshots=["2024"], columns=columns))


def test_tokens_stand_beside_their_documents_and_decode_to_their_text(opened: OpenedLake) -> None:
    rows = list(opened.tokens("even", "tiny-1", "pages", decoded=True))
    texts = {row["id"]: row["text"] for row in opened.mix("even")}
    assert [(row["id"], row["row"]) for row in rows] == [
        (f"doc-{n:05d}", place) for n, place in zip((4, 8, 12, 16, 24, 28, 32, 36), (0, 1, 2, 3) * 2, strict=True)
    ]
    for row in rows:
        assert row["text"].removesuffix("<|endoftext|>").strip() == texts[row["id"]]
        assert opened.tokenizer("tiny-1").decode(row["input_ids"]).strip() == texts[row["id"]]


def test_a_lake_lists_what_it_has(opened: OpenedLake) -> None:
    lines = repr(opened.assets()).splitlines()
    assert lines[0].split() == ["asset", "snapshot", "shards", "rows", "size", "tokens"]
    assert lines[1].split()[:4] == ["sources/pages/v0/documents", "2024", "2", "40"]
    assert lines[-1].split()[-1] == "44"
    assert [each.snapshot for each in opened.assets("sources/pages/v0/documents")] == ["2024", "2025"]
    assert "<td>sources/pages/v1/documents</td>" in opened._repr_html_()


def test_a_notebook_shows_a_lake_that_is_not_there_in_words(tmp_path: Any) -> None:
    assert "there is no lake (no such folder)" in OpenedLake(str(tmp_path / "none"), {})._repr_html_()


def test_it_is_a_lake_for_all_functions_of_the_library(opened: OpenedLake) -> None:
    assert isinstance(opened, Lake)
    assert list(api.verify(opened, "sources/pages/v0/documents")) == []


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda lake: lake.documents("pages/v3"), "there is no sources/pages/v3/documents; did you mean"),
        (lambda lake: lake.documents("pages"), "'pages' names no documents of a lake: write it as 'wiki/v1'"),
        (lambda lake: lake.documents("pages/v0", sets=["word-1"]), "did you mean 'words-1'?"),
        (lambda lake: lake.documents("pages/v0", columns=["txt"]), "there is no column 'txt'; did you mean 'text'?"),
        (
            lambda lake: lake.documents("pages/v0", snapshots=["2023"]),
            "there is no snapshot '2023'; did you mean '2025' or '2024'",
        ),
        (lambda lake: lake.documents("pages/v0", shards=["c"]), "there is no shard 'c'; known: a, b"),
        (lambda lake: lake.documents("pages/v0", limit=-1), "limit is -1"),
        (lambda lake: lake.mix("evn"), "there is no mix 'evn'; did you mean 'even'?"),
        (lambda lake: lake.mix("even", streams=["page"]), "there is no stream 'page'; did you mean 'pages'?"),
        (lambda lake: lake.tokens("even", "tiny-2", "pages"), "did you mean 'token_caches/even/tiny-1/pages'?"),
        (lambda lake: lake.tokens("even", "tiny-1", "pages", "test"), "there is no split 'test'; known: train, valid"),
        (lambda lake: lake.tokenizer("tiny-3"), "there is no tokenizer 'tiny-3'; did you mean 'tiny-1'?"),
    ],
)
def test_an_unknown_name_is_told_with_those_that_are_like_it(opened: OpenedLake, ask: Any, words: str) -> None:
    with pytest.raises(RecipeError) as told:
        ask(opened)
    assert words in str(told.value)


def test_a_partition_that_is_not_finished_or_at_work_is_an_error(read_mill: Mill, own: OpenedLake) -> None:
    where = read_mill.documents()
    read_mill.store.put(where.claim_path, b'{"token":"run"}')
    with pytest.raises(StoreError, match="snapshot 2024: is being made, or the run that made it has died"):
        own.documents("pages/v0")
    read_mill.store.delete([where.claim_path, where.ledger])
    with pytest.raises(DataError, match="snapshot 2024: is not finished; make it, or name"):
        own.documents("pages/v0")
    assert len(own.documents("pages/v0", snapshots=["2025"])) == 10


def test_relations_of_two_readers_are_joined_in_duckdb(opened: OpenedLake) -> None:
    documents = opened.documents("pages/v0", snapshots=["2024"], columns=["id", "text"]).duckdb()
    mix = opened.mix("even", columns=["id"]).duckdb()
    assert documents.join(mix, "id").aggregate("count(*), sum(length(text))").fetchall() == [(8, 28 * 4 + 20)]
    assert duckdb.execute("select count(*) from documents join mix using (id)").fetchall() == [(8,)]
