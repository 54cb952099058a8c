from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill
from tracelake import even, in_mix, make_trace_lake

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import SPLITS
from gristmill.queries.session import run_query
from gristmill.queries.tables import NamedTable, Tables, plain_table_name, tables_of_lake
from gristmill.reading.opened_lake import OpenedLake

CACHE = ("even", "tiny-1", "pages")


def test_the_tables_of_a_lake_are_its_versions_sets_mixes_and_caches(whole: Mill) -> None:
    assert tables_of_lake(whole.store) == [
        NamedTable("even_pages", "mixes/even/documents/pages"),
        NamedTable("pages_v0_characters_1", "sources/pages/v0/attributes/characters-1"),
        NamedTable("pages_v0_words_1", "sources/pages/v0/attributes/words-1"),
        NamedTable("pages_v0", "sources/pages/v0/documents"),
        NamedTable("pages_v1", "sources/pages/v1/documents"),
        NamedTable("even_tiny_1_pages", "token_caches/even/tiny-1/pages"),
        NamedTable("ledgers", ""),
    ]


def test_a_table_is_named_by_its_address_or_its_parts(whole: Mill) -> None:
    tables = Tables(OpenedLake(str(whole.root), {}, shelves=SHELVES), None, whole.said.append)
    names = ["sources/pages/v0/documents", "pages/v0", "Pages_V0", "pages_v0"]
    assert len({str(tables.open(name).schema) for name in names}) == 1
    with pytest.raises(RecipeError, match="there is no table 'pages'; "):
        tables.open("pages")
    tables.close()


def test_names_that_are_alike_must_be_addresses(whole: Mill) -> None:
    for source, version in (("a-v1", "v0"), ("a", "v1_v0")):
        whole.store.put(f"sources/{source}/{version}/documents/2024/x.jsonl.gz", b"")
    tables = Tables(OpenedLake(str(whole.root), {}, shelves=SHELVES), None, whole.said.append)
    assert plain_table_name("a-v1/v0") == plain_table_name("a/v1_v0")
    with pytest.raises(RecipeError, match="may be sources/a-v1/v0/documents or sources/a/v1_v0/documents: write one"):
        tables.open("a_v1_v0")
    tables.close()


@pytest.mark.slow
def test_streams_of_mixes_and_token_caches_are_tables(tmp_path: Path) -> None:
    mill = make_trace_lake(tmp_path / "lake", even())
    assert [table.name for table in tables_of_lake(mill.store) if table.address.startswith(("mixes/", "token_"))] == [
        "even_pages",
        "even_tiny_1_pages",
    ]
    lake = OpenedLake(str(mill.root), {}, shelves=SHELVES)

    def ask(sql: str, snapshots: list[str] | None = None) -> list[tuple[object, ...]]:
        with run_query(lake, sql, snapshots=snapshots) as reader:
            return [tuple(row.values()) for batch in reader for row in batch.to_pylist()]

    with pytest.raises(DataError, match="mixes/even/index: does not exist yet"):
        ask("select count(*) from even_pages")
    [(documents,)] = ask("select count(*) from even_pages", [SNAPSHOT])
    assert documents == len(list(in_mix()))
    [(tokens, rows)] = ask("select sum(len(input_ids)), count(*) from even_tiny_1_pages")
    assert tokens == sum(len(row["input_ids"]) for split in SPLITS for row in lake.tokens(*CACHE, split))
    assert rows == documents
    splits = ask("select split, count(*) from even_tiny_1_pages group by split order by split", [SNAPSHOT])
    assert splits == [(split, len(list(lake.tokens(*CACHE, split)))) for split in SPLITS]
    joined = "select count(*) from even_pages join even_tiny_1_pages using (source, id, snapshot, shard, row)"
    assert ask(joined, [SNAPSHOT]) == [(documents,)]
    with pytest.raises(RecipeError, match="the index names no snapshot 'zzz'"):
        ask("select 1 from even_tiny_1_pages", ["zzz"])


@pytest.mark.slow
def test_a_token_cache_of_a_mix_that_holds_nothing_out_is_a_table_of_one_split(tmp_path: Path) -> None:
    mill = make_trace_lake(tmp_path / "lake", even(validation=0.0))
    lake = OpenedLake(str(mill.root), {}, shelves=SHELVES)
    with run_query(lake, "select split, count(*) as rows from even_tiny_1_pages group by split") as reader:
        rows = [row for batch in reader for row in batch.to_pylist()]
    assert rows == [{"split": "train", "rows": len(list(in_mix()))}]
