"""A text may hold U+0000, which ends a string in C: every way out of a lake gives the whole text, or shows it."""

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from lies import audit
from testkit import SHELVES, Mill
from wholelake import STREAM, TOKENIZER, WORDS, make_whole, table

from gristmill.api import open_lake, open_split
from gristmill.queries.session import run_query
from gristmill.reading.opened_lake import OpenedLake
from gristmill.scores.described import describe_set
from gristmill.scores.examples import write_examples
from gristmill.scores.page import score_page

SPACE = " \0é\0 "
TEXT = SPACE.join(["word"] * 5)
"""Document 4 of the pages: it is in the mix, and 40 code points long."""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_whole(tmp_path_factory.mktemp("nul") / "lake", SPACE)


@pytest.fixture
def opened(mill: Mill) -> OpenedLake:
    return open_lake(str(mill.root), shelves=SHELVES)


def test_rows_arrow_duckdb_and_parquet_have_the_whole_text(opened: OpenedLake, tmp_path: Path) -> None:
    rows = opened.documents("pages/v0")
    assert [row["text"] for row in rows][4] == TEXT
    assert rows.duckdb(duckdb.connect()).filter("row = 4").select("text").fetchall()[0] == (TEXT,)
    pq.write_table(rows.table(), tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").equals(rows.table())
    sql = (
        "select text, length(text), strip_accents(text) from pages_v0 where contains(text, chr(0)) order by id limit 4"
    )
    with run_query(opened, sql) as reader:
        [found] = reader.read_all().to_pylist()[3:]
    assert list(found.values()) == [TEXT, 40, TEXT.replace("é", "e")]


def test_labels_rules_and_tokens_are_of_the_whole_text(mill: Mill, opened: OpenedLake) -> None:
    assert mill.rows(STREAM.shard("a"))[0]["text"] == TEXT
    split = open_split(opened, "even", TOKENIZER.name, "pages")
    assert TEXT in opened.tokenizer(TOKENIZER.name).decode(
        split.row("input_ids", 0).tolist(), skip_special_tokens=False
    )
    assert audit(mill) == ([], [])


def test_a_page_shows_it_and_has_none_itself(mill: Mill) -> None:
    described = describe_set(mill.store, WORDS, table(mill, WORDS), {"count": "score"})
    examples = write_examples(mill.store, described, table(mill, WORDS))
    assert TEXT in [example.excerpt for example in examples]
    page = score_page(described, examples)
    assert "\0" not in page
    assert r"\x00é\x00" in page
