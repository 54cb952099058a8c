from pathlib import Path
from typing import Any

import duckdb
import pytest
from labelrows import write_labels
from testkit import SHELVES, Mill
from wholelake import WORDS, table

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError
from gristmill.lake.ledger.derived import columns_path
from gristmill.queries.session import named_tables, run_query
from gristmill.reading.opened_lake import OpenedLake
from gristmill.scores.described import describe_set
from gristmill.verification.derived_files.findings import derived_findings

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def rows(mill: Mill, sql: str, said: list[str] | None = None, **options: Any) -> list[tuple[Any, ...]]:
    lake = OpenedLake(str(mill.root), {}, shelves=SHELVES)
    with run_query(lake, sql, say=(said if said is not None else []).append, **options) as reader:
        return [tuple(row.values()) for batch in reader for row in batch.to_pylist()]


def test_documents_and_labels_are_joined_by_their_places(whole: Mill) -> None:
    joined = 'select id, length(text), count from pages_v0 join "pages/v0/words-1" using (id, snapshot, shard, row)'
    assert rows(whole, f"{joined} where count > 4 order by id limit 2") == [
        ("doc-00004", 24, 5.0),
        ("doc-00009", 24, 5.0),
    ]
    assert rows(whole, "select count(*) from pages_v0_words_1 where shard = 'b' and count = 1") == [(4,)]
    assert rows(whole, "select first__spans, first__characters from pages_v0_words_1 limit 1") == [(1, 4)]


def test_columns_beside_the_ledger_are_used_if_they_are_fresh_and_never_if_not(whole: Mill) -> None:
    sql = "select sum(count) from pages_v0_words_1"
    before = {entry.path for entry in whole.store.list("")}
    said: list[str] = []
    assert rows(whole, sql, said) == [(120.0,)]
    assert said == [
        "sources/pages/v0/attributes/words-1: shards without columns are read; `gristmill report` keeps columns"
    ]
    assert {entry.path for entry in whole.store.list("")} == before
    describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    said.clear()
    assert (rows(whole, sql, said), said) == ([(120.0,)], [])
    write_labels(whole, WORDS, "a", [{"words-1__count": 1.0}] * 20)
    assert rows(whole, sql) == [(80.0,)]


def test_a_query_that_reads_no_column_counts_rows(whole: Mill) -> None:
    assert rows(whole, "select count(*) from pages_v0") == [(40,)]
    assert rows(whole, "select count(*) from pages_v0", snapshots=["2024"]) == [(40,)]
    assert rows(whole, "select asset, rows from ledgers where finished order by asset limit 1") == [
        ("mixes/even/documents/pages", 8)
    ]
    assert rows(whole, "describe pages_v0_words_1")[3][:2] == ("count", "DOUBLE")


def test_odd_labels_have_names_that_sql_can_tell_apart(whole: Mill) -> None:
    write_labels(whole, WORDS, "a", [{f"words-1__{name}": 1.0 for name in ("id", "En", "en", 'q"x')}] * 20)
    names = [row[0] for row in rows(whole, "describe pages_v0_words_1")]
    assert {"id", "id__spans", "En__score", "en__score_", 'q"x__score'} <= set(names)
    assert rows(whole, 'select sum("en__score_"), sum("q""x__score") from pages_v0_words_1') == [(20.0, 20.0)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select * from read_text('/etc/passwd')", "disabled by configuration"),
        ("select * from '/etc/passwd'", "there is no table '/etc/passwd'"),
        ("select * from read_csv('https://example.org/x.csv')", ""),
        ("select * from glob('/*')", "disabled by configuration"),
        ("copy pages_v0 to '/tmp/stolen.csv'", "the query is COPY; give one SELECT"),
        ("attach '/tmp/x.db'", "the query is ATTACH; give one SELECT"),
        ("install httpfs", "give one SELECT"),
        ("set enable_external_access = true", "the query is SET; give one SELECT"),
        ("create table x as select 1", "the query is CREATE; give one SELECT"),
        ("select 1; drop table x", "the query is SELECT, DROP; give one SELECT"),
        ("", "the query is nothing; give one SELECT"),
        ("selec 1", "syntax error"),
        ("select * from page_v0", "there is no table 'page_v0'; did you mean 'pages_v0'"),
        ("select texxt from pages_v0", '"text"'),
        ("select cast(text as int) from pages_v0", "the query failed: "),
    ],
)
def test_what_a_query_must_not_do_is_refused_in_words(whole: Mill, sql: str, said: str) -> None:
    with pytest.raises(GristmillError) as error:
        rows(whole, sql)
    assert said in str(error.value)


def test_a_damaged_shard_ends_the_query_with_its_name(whole: Mill) -> None:
    path = whole.documents().shard("a")
    whole.store.put(path, whole.store.read(path)[:-20])
    with pytest.raises(StoreError, match=r"^sources/pages/v0/documents/2024/a\.jsonl\.gz: not the object"):
        rows(whole, "select sum(length(text)) from pages_v0")


@pytest.mark.slow
def test_what_does_not_fit_into_memory_goes_to_disk_or_is_told(whole: Mill) -> None:
    big = "select count(*) from (select md5(i::varchar) m from range(2000000) t(i) order by m offset 5)"
    assert rows(whole, big, memory="60MB", threads=1) == [(1_999_995,)]
    with pytest.raises(RecipeError, match="--memory much"):
        rows(whole, "select 1", memory="much")


def test_names_of_tables_are_found_under_subqueries_and_with_clauses() -> None:
    sql = "with X as (from a) select (select 1 from b) from x join c using (id), information_schema.tables"
    assert named_tables(duckdb.connect(), sql) == {"a", "b", "c"}


def test_temporary_files_are_gone_after_a_query(whole: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    rows(whole, "select sum(count) from pages_v0_words_1")
    with pytest.raises(RecipeError):
        rows(whole, "select nothing from pages_v0_words_1")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_damaged_columns_end_the_query_with_their_name_and_the_mend(whole: Mill) -> None:
    describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    path = columns_path(WORDS, "a")
    good = whole.store.read(path)
    whole.store.put(path, good[:4] + bytes(200) + good[204:])
    with pytest.raises(
        DataError, match=r"words-1/2024.columns/a.parquet: is damaged .*; delete it, and `gristmill report`"
    ):
        rows(whole, "select id, count from pages_v0_words_1")
    assert [finding.path for finding in derived_findings(whole.store, WORDS, table(whole, WORDS), print)] == [path]


def test_columns_that_state_other_kinds_than_the_tagger_declares_are_not_read(whole: Mill) -> None:
    expected = rows(whole, "select sum(count) from pages_v0_words_1")
    describe_set(whole.store, WORDS, table(whole, WORDS), None)  # by who has not the shelf: all labels are spans
    assert rows(whole, "select sum(count) from pages_v0_words_1") == expected


def test_a_query_that_is_not_utf_8_is_told(whole: Mill) -> None:
    with pytest.raises(RecipeError, match="not UTF-8"):
        rows(whole, "select '\udcff'")
