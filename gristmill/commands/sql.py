"""`sql [LAKE] "select ..."`: runs a query over documents, attribute sets, mixes, token caches and ledgers of a lake.

Without a query, or with `show tables`, it lists the tables. It only reads: nothing in the lake changes.
"""

import csv
import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.output_file import write_output_file
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    print_error,
    print_line,
    shelf_packages,
)
from gristmill.errors import RecipeError, escape_controls, shorten
from gristmill.queries.session import MEMORY, run_query
from gristmill.queries.tables import tables_of_lake
from gristmill.reading.opened_lake import OpenedLake

HELP = "query documents, attribute sets, mixes, tokens and ledgers with SQL"

_FORMATS = ("table", "csv", "json", "parquet")
_WIDEST = 60
_LISTING = re.compile(r"\s*(show\s+(all\s+)?)tables\s*;?\s*", re.IGNORECASE)
"""DuckDB knows a table of the lake only when a query names it, so its own list would be empty."""
_WHOLE = 1 << 53
"""Whole numbers below it are shown with all their digits, such as those of clusters."""
_LONGEST = 1 << 63
"""Whole numbers below it are numbers in JSON; longer ones are text."""
MOST_THREADS = 256
"""Of DuckDB. It begins them all at once."""


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar='[LAKE] "SELECT ..."',
        help="the query, in quotes; before it the lake: -, s3://bucket/prefix, or a folder; by default that of the"
        " project or GRISTMILL_LAKE. Without a query: lists the tables",
    )
    add_bucket_options(parser)
    parser.add_argument("--format", choices=_FORMATS, default="table", help="of the rows (%(default)s)")
    parser.add_argument("--output", metavar="FILE", help="write the rows to this file; --format parquet needs one")
    parser.add_argument("--rows", type=int, default=100, metavar="N", help="rows that a table shows (%(default)s)")
    parser.add_argument("--snapshot", action="append", metavar="KEY", help="only this snapshot; may be repeated")
    parser.add_argument("--memory", default=MEMORY, help="most memory of DuckDB (%(default)s); the rest goes to disk")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of DuckDB (%(default)s)")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Runs the query, or lists the tables. Returns 0.

    Raises:
        RecipeError: the query is wrong, or names an unknown table.
        DataError: a partition is not finished, or a row is wrong.
        StoreError: the lake does not answer.
    """
    words = list(arguments.words)
    sql = words.pop() if words and any(character.isspace() for character in words[-1]) else ""
    if len(words) > 1:
        raise RecipeError(f"{' '.join(words)}: give a lake and a query; the query is one word, in quotes")
    if arguments.format == "parquet" and not arguments.output:
        raise RecipeError("--format parquet: name a file with --output")
    for option, number, most in (("--threads", arguments.threads, MOST_THREADS), ("--rows", arguments.rows, 10**9)):
        if not 1 <= number <= most:
            raise RecipeError(f"{option} {number}: give a number from 1 to {most:,}")
    arguments.lake = words[0] if words else "-"
    lake = lake_without_targets(arguments)
    if not sql or _LISTING.fullmatch(sql):
        for table in tables_of_lake(lake.store()):
            print_line(f"{table.name:<40} {table.address}".rstrip())
        return 0
    opened = OpenedLake(lake.url, lake.options, shelves=shelf_packages(arguments))
    with run_query(
        opened,
        sql,
        snapshots=arguments.snapshot,
        memory=arguments.memory,
        threads=arguments.threads,
        say=print_error,
    ) as reader:
        try:
            _print_or_write_result(reader, arguments, lake.url)
        except (pa.ArrowException, OverflowError, ValueError, orjson.JSONEncodeError) as error:
            form = arguments.format
            raise RecipeError(f"the query: a value does not fit {form} ({error}); cast it: `col::varchar`") from error
    return 0


def _print_or_write_result(reader: Any, arguments: Namespace, lake: str) -> None:
    names = reader.schema.names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice and arguments.format in {"json", "parquet"}:
        raise RecipeError(f"two columns have the name {twice[0]!r}; rename one in the query: `select ... as other`")
    if not arguments.output:
        _write_result_file(reader, arguments, sys.stdout)
        return
    with write_output_file(arguments.output, lake) as path:
        if arguments.format == "parquet":
            with pq.ParquetWriter(str(path), reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)
            return
        with path.open("w", encoding="utf-8", newline="") as file:
            _write_result_file(reader, arguments, file)


def _write_result_file(reader: Any, arguments: Namespace, file: Any) -> None:
    names = reader.schema.names
    if arguments.format == "csv":
        writer = csv.writer(file)
        writer.writerow(names)
        for batch in reader:
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    elif arguments.format == "json":
        for batch in reader:
            for row in batch.to_pylist():
                file.write(orjson.dumps(row, default=_value_as_json).decode() + "\n")
    else:
        _print_table(reader, names, arguments.rows, file)


def _value_as_json(value: Any) -> int | str:
    """A value that JSON does not have, as text. Sums of whole numbers stay numbers: DuckDB gives them as decimals."""
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0 and abs(value) < _LONGEST:
        return int(value)
    return str(value)


def _print_table(reader: Any, names: list[str], most: int, file: Any) -> None:
    rows: list[list[str]] = []
    more = False
    for batch in reader:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            more = len(rows) >= most
            if more:
                break
            rows.append([_table_cell(value) for value in row])
        if more:
            break
    lines = [[escape_controls(name) for name in names], *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    for line in lines:
        file.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")
    if more:
        file.write("... more rows; --rows N shows more, --format csv all\n")


def _table_cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _WHOLE:
            return str(int(value))
        return f"{value:.6g}"
    return shorten(escape_controls(str(value)), _WIDEST)
