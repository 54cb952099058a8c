"""Session: runs one SELECT over the tables of a lake, with bounded memory, without a way to files or the network."""

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from gristmill.errors import DataError, RecipeError, shorten
from gristmill.queries.lake_table import LakeTable
from gristmill.queries.tables import Tables
from gristmill.reading.opened_lake import OpenedLake
from gristmill.recipes.sql.rule_sql import read_whole_texts

MEMORY = "2GB"
"""Most memory of DuckDB; what does not fit is written to a temporary folder."""

_ROWS = 10_000

_NOT_IN_ARROW = frozenset({"UHUGEINT", "BIGNUM", "VARINT", "BIT", "TIME WITH TIME ZONE"})
_LISTED = re.compile(r"(\[\d*\])+$")
"""The end of the name of a list's type."""


@contextmanager
def run_query(
    lake: OpenedLake,
    sql: str,
    *,
    snapshots: Sequence[str] | None = None,
    memory: str = MEMORY,
    threads: int = 2,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Any]:
    """Runs a query, and gives its rows as a `pyarrow.RecordBatchReader`.

    The SQL is one SELECT (also WITH, FROM, VALUES, DESCRIBE, SUMMARIZE). It reads the tables of the lake, and nothing
    else: functions that read files are refused, as are statements that write, attach, install or set.

    Args:
        lake: the lake.
        sql: the query.
        snapshots: keys of the snapshots that its tables have; None: all.
        memory: most memory of DuckDB.
        threads: number of DuckDB's threads.
        say: function that receives remarks on what is slow.

    Returns:
        A reader of the rows. It can be read inside the `with` block only.

    Raises:
        RecipeError: the SQL is wrong, is no SELECT, or names an unknown table or column.
        DataError: a row is wrong, or a partition is not finished.
        StoreError: the lake does not answer.
    """
    tables = Tables(lake, snapshots, say)
    with (
        tempfile.TemporaryDirectory(prefix="gristmill-sql-") as folder,
        closing(tables),
        closing(_locked_duckdb_connection(folder, memory, threads)) as connection,
    ):
        read: list[LakeTable] = []
        with _translate_duckdb_errors(read):
            _check_select(connection, sql)
            for name in sorted(named_tables(connection, sql)):
                read.append(tables.open(name))
                connection.register(name, read[-1])
            found = connection.sql(sql)
            _check_types(found.columns, found.types)
            reader = found.to_arrow_reader(_ROWS)
        yield _result_rows(reader, read)


def _locked_duckdb_connection(folder: str, memory: str, threads: int) -> "duckdb.DuckDBPyConnection":
    """DuckDB in memory, which can neither read files nor change its settings; what does not fit goes to a folder."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": folder,
        "memory_limit": memory,
        "threads": threads,
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    try:
        connection = duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise RecipeError(f"--memory {memory}: {error}") from error
    read_whole_texts(connection)
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _check_types(names: Sequence[str], types: Sequence[Any]) -> None:
    """Refuses columns that would become other values on their way through Arrow, such as -1 for 2^128 - 1."""
    for name, kind in zip(names, types, strict=True):
        if _LISTED.sub("", str(kind)) in _NOT_IN_ARROW:
            raise RecipeError(
                f"the query: column {shorten(name)!r} is {kind}, which Arrow lacks; cast it: `col::varchar`"
            )


def _result_rows(reader: Any, read: Sequence[LakeTable]) -> Any:
    def batches() -> Iterator[Any]:
        with _translate_duckdb_errors(read):
            yield from reader

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _check_select(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    try:
        statements = connection.extract_statements(sql.encode().decode())
    except UnicodeEncodeError as error:
        raise RecipeError("the query is not UTF-8; write it in UTF-8") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise RecipeError(f"the query is {kinds}; give one SELECT: `sql` only reads")


def named_tables(connection: "duckdb.DuckDBPyConnection", sql: str) -> set[str]:
    """The tables that a query names without a schema. DuckDB's own function fails for joins with USING.

    Args:
        connection: connection of DuckDB.
        sql: one SELECT.

    >>> sorted(named_tables(duckdb.connect(), 'with x as (from a) select 1 from x join "b/c" using (id), s.d'))
    ['a', 'b/c']
    """
    [found] = connection.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    tables: set[str] = set()
    named: set[str] = set()
    try:
        waiting: list[Any] = [orjson.loads(found[0])]
    except orjson.JSONDecodeError as error:
        raise RecipeError("the query is nested too deeply; write it in steps, with WITH") from error
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE" and not node.get("schema_name"):
                tables.add(node["table_name"])
            if isinstance(node.get("cte_map"), dict):
                named |= {each["key"].lower() for each in node["cte_map"].get("map", ())}
            waiting += node.values()
    return {table for table in tables if table.lower() not in named}


@contextmanager
def _translate_duckdb_errors(read: Sequence[LakeTable]) -> Iterator[None]:
    """Turns DuckDB's errors into ours: those of the query, and those of reading the lake."""
    try:
        yield
    except (
        duckdb.ParserException,
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.PermissionException,
    ) as error:
        raise RecipeError(f"the query: {error}") from error
    except duckdb.Error as error:
        for table in read:
            if table.failed:
                raise table.failed from error
        raise DataError(f"the query failed: {error}") from error
    except RuntimeError as error:
        if "Query interrupted" in str(error):  # Ctrl-C, as DuckDB tells it
            raise KeyboardInterrupt from error
        raise
