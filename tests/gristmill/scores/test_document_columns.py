from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from testkit import Mill

from gristmill.errors import MalformedRow
from gristmill.lake.ledger.derived import columns_path
from gristmill.scores.column_file import open_document_columns
from gristmill.scores.document_columns import Field, _RowColumns, make_document_columns

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


@pytest.mark.parametrize("odd", ["5", "1.5", "true", '["https://c"]', '{"a": "https://c"}', "1e999"])
@pytest.mark.parametrize("wanted", [[], [("metadata.n", "BIGINT")]])
def test_a_value_that_is_no_text_is_null_in_its_row_alone(odd: str, wanted: list[Field]) -> None:
    row = '{{"id": "{}", "source": "pages", "text": "", "created": {}, "metadata": {}}}\n'
    lines = [
        row.format(1, '"2024"', '{"url": "https://a", "n": 1}'),
        row.format(2, '"2025"', f'{{"url": {odd}}}'),
        row.format(3, odd, '{"url": "https://b"}'),
        row.format(4, '"2026"', '["no object"]' if not wanted else "null"),
    ]
    block = "".join(lines).encode()
    columns = _RowColumns(wanted, "a.jsonl")
    batch = columns.column_batch(block, {})
    assert batch["url"].to_pylist() == ["https://a", None, "https://b", None]
    assert batch["created"].to_pylist() == ["2024", "2025", None, "2026"]
    assert columns.unread_urls == (0 if odd in ("5", "1.5", "true") else 1)


def test_a_rule_that_reads_one_of_them_as_another_type_does_not_hide_the_other() -> None:
    row = {"id": "1", "source": "pages", "text": "a", "created": "2024", "metadata": {"url": ["https://a"]}}
    columns = _RowColumns([("metadata.url", "VARCHAR[]")], "a.jsonl")
    assert columns.column_batch(msgspec.json.encode(row) + b"\n", {})["created"].to_pylist() == ["2024"]
    assert columns.unread_urls == 1


def test_a_value_of_another_type_names_its_row(mill: Mill) -> None:
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 1\b"):
        made(mill, ROWS, [("metadata.tags", "BIGINT")])


def test_columns_of_other_bytes_count_as_absent(mill: Mill) -> None:
    made(mill, ROWS, FIELDS)
    mill.raw("a.jsonl.gz", ROWS[:2])
    mill.convert()
    assert open_document_columns(mill.store, mill.documents(), mill.table(mill.documents())["a"]) is None
