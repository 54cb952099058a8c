from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from gristmill.queries.lake_table import LakeTable

TABLE = pa.table({"number": [1, 2, 3], "word": ["one", "two", "n"], "void": pa.array([None] * 3, pa.float64())})


def asked(sql: str) -> tuple[list[tuple[Any, ...]], list[list[str]]]:
    scans: list[list[str]] = []

    def read(names: Sequence[str]) -> Iterator[Any]:
        scans.append(list(names))
        yield from TABLE.select(list(names)).to_batches()

    connection = duckdb.connect()
    connection.register("t", LakeTable(TABLE.schema, read))
    return connection.execute(sql).fetchall(), scans


def test_only_the_columns_of_the_query_are_read() -> None:
    assert asked("select sum(number) from t") == ([(6,)], [["number"]])
    assert asked("select word from t where number > 1") == ([("two",), ("n",)], [["number", "word"]])
    assert asked("select count(*) from t where void is null")[0] == [(3,)]
    assert asked("select a.number from t a join t b using (number) order by 1")[0] == [(1,), (2,), (3,)]


def test_without_columns_rows_are_counted() -> None:
    found, [scan] = asked("select count(*) from t")
    assert (found, len(scan)) == ([(3,)], 1)
