from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from testkit import Mill

from gristmill.errors import MalformedRow
from gristmill.lake.ledger.derived import columns_path
from gristmill.scores.column_file import open_document_columns
from gristmill.scores.document_columns import Field, make_document_columns

ROWS: list[dict[str, Any]] = [
    {"id": "1", "source": "pages", "text": "größer", "created": "2024-01-01", "metadata": {"url": "https://a", "n": 1}},
    {"id": "2", "source": "pages", "text": "", "created": None, "metadata": {"n": None, "tags": ["x"]}},
    {"id": "3", "source": "pages", "text": "\U0001f600", "metadata": {"tags": [], "half": 0.5}},
]
FIELDS: list[Field] = [
    ("metadata.n", "BIGINT"),
    ("metadata.tags", "VARCHAR[]"),
    ("metadata.half", "DOUBLE"),
    ("id", "VARCHAR"),
]


def made(mill: Mill, rows: list[dict[str, Any]], wanted: list[Field]) -> Any:
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    make_document_columns(mill.store, mill.documents(), mill.table(mill.documents())["a"], wanted)
    return pq.read_table(Path(mill.root) / columns_path(mill.documents(), "a"))


def test_each_row_has_its_fields_and_its_sizes(mill: Mill) -> None:
    table = made(mill, ROWS, FIELDS).to_pydict()
    lines = mill.lines(mill.documents().shard("a"))
    assert table == {
        "id": ["1", "2", "3"],
        "source": ["pages"] * 3,
        "row": [0, 1, 2],
        "bytes": [len(line) + 1 for line in lines],
        "characters": [6, 0, 1],
        "url": ["https://a", None, None],
        "created": ["2024-01-01", None, None],
        "BIGINT metadata.n": [1, None, None],
        "VARCHAR[] metadata.tags": [None, ["x"], []],
        "DOUBLE metadata.half": [None, None, 0.5],
        "VARCHAR id": ["1", "2", "3"],
    }
    file = open_document_columns(mill.store, mill.documents(), mill.table(mill.documents())["a"])
    assert file is not None
    assert file.head.absent == {
        "BIGINT metadata.n": 1,  # null is a value
        "DOUBLE metadata.half": 2,
        "VARCHAR id": 0,
        "VARCHAR[] metadata.tags": 1,
    }


def test_a_url_that_is_no_text_is_null_and_a_rule_may_read_it_as_what_it_is(mill: Mill) -> None:
    rows = [{"id": "1", "source": "pages", "text": "a", "metadata": {"url": 7}}]
    assert made(mill, rows, []).column("url").to_pylist() == [None]
    table = made(mill, rows, [("metadata.url", "BIGINT")])
    assert (table.column("url").to_pylist(), table.column("BIGINT metadata.url").to_pylist()) == ([None], [7])


def test_a_value_of_another_type_names_its_row(mill: Mill) -> None:
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 1\b"):
        made(mill, ROWS, [("metadata.tags", "BIGINT")])


def test_columns_of_other_bytes_count_as_absent(mill: Mill) -> None:
    made(mill, ROWS, FIELDS)
    mill.raw("a.jsonl.gz", ROWS[:2])
    mill.convert()
    assert open_document_columns(mill.store, mill.documents(), mill.table(mill.documents())["a"]) is None
