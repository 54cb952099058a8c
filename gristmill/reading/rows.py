"""Rows: what a lake's readers return. It can be read again and again, in any of the usual forms.

Only `table`, `pandas` and `polars` hold all rows. The other forms read while they are consumed, block by block.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gristmill.errors import RecipeError

if TYPE_CHECKING:
    import duckdb


class Rows:
    """Rows that are read when they are asked for, each time anew.

    A `Rows` is also an Arrow stream (`__arrow_c_stream__`): `pyarrow.table(rows)`, `polars.DataFrame(rows)` and, if a
    variable `documents` holds it, `duckdb.sql("select count(*) from documents")` take it as it is. Each use begins with
    the first row, so two uses give the rows twice.

    Args:
        schema: the Arrow schema of all batches.
        batches: function that begins to read.
        title: description of what is read.
        most: the number of rows, by the ledgers; at most so many are read.

    Attributes:
        schema: the names and Arrow types of the columns. They never depend on the data.
        title: description of what is read.
        most: the number of rows, by the ledgers.
    """

    def __init__(self, schema: Any, batches: Callable[[], Iterator[Any]], title: str, most: int) -> None:
        self.schema = schema
        self.title = title
        self.most = most
        self._begin = batches

    def batches(self) -> Iterator[Any]:
        """The rows as `pyarrow.RecordBatch`, of about 4 MiB of JSON each.

        Raises:
            DataError: a row is wrong, a file is damaged, or a set does not match its documents.
            StoreError: the lake does not answer, or a shard is not the one that its ledger names. This is known at the
                end of the shard, when its rows were given.
        """
        left = self.most
        for batch in self._begin():
            if left < batch.num_rows:
                yield batch.slice(0, left)
                return
            left -= batch.num_rows
            if batch.num_rows:
                yield batch

    def reader(self) -> Any:
        """A `pyarrow.RecordBatchReader`. It gives the rows once; ask for another one to read them again."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def table(self) -> Any:
        """A `pyarrow.Table` of all rows, in memory. Raises the same errors as batches()."""
        return pa.Table.from_batches(list(self.batches()), self.schema)

    def duckdb(self, connection: "duckdb.DuckDBPyConnection | None" = None) -> "duckdb.DuckDBPyRelation":
        """A DuckDB relation, which reads the rows anew for each query.

        An error while it reads is DuckDB's `InvalidInputException`; its message has our words, with file and row.

        Args:
            connection: connection on which it stands; by default DuckDB's own, as `duckdb.sql` uses it. Relations that
                are joined stand on one connection.
        """
        import duckdb  # noqa: PLC0415 - a quarter of a second, which other forms need not wait

        return (duckdb.default_connection() if connection is None else connection).from_arrow(self)

    def pandas(self) -> Any:
        """A `pandas.DataFrame` of all rows.

        Raises:
            RecipeError: pandas is not installed.
        """
        _import_optional_package("pandas")
        return self.table().to_pandas()

    def polars(self) -> Any:
        """A `polars.DataFrame` of all rows.

        Raises:
            RecipeError: polars is not installed.
        """
        return _import_optional_package("polars").from_arrow(self.table())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries of Python values, by column."""
        for batch in self.batches():
            yield from batch.to_pylist(maps_as_pydicts="strict")

    def __len__(self) -> int:
        """The number of rows, by the ledgers. Nothing is read."""
        return self.most

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = "\n".join(f"  {field.name}: {field.type}" for field in self.schema)
        return f"{self.title}: {self.most:,} rows, read on demand\n{columns}"


def _import_optional_package(package: str) -> Any:
    """An optional package."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise RecipeError(
            f"{package} is not installed, and Gristmill does not need it: run `pip install {package}`; or take .table()"
            " (Arrow), .duckdb() or a loop over the rows"
        ) from error
