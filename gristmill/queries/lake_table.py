"""LakeTable: a table of the lake that DuckDB reads as an Arrow dataset. Only the columns of a query are read."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from gristmill.errors import GristmillError


class LakeTable(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A table whose batches are read when a query scans it. DuckDB calls `schema` and `scanner` of a dataset.

    Args:
        schema: the Arrow schema of all columns.
        read: function that gives record batches of some columns, in their order.

    Attributes:
        failed: error of a scan. DuckDB makes an error of its own of it.
    """

    failed: GristmillError | None = None

    def __init__(self, schema: Any, read: Callable[[Sequence[str]], Iterator[Any]]) -> None:
        self._columns, self._read = schema, read

    @property
    def schema(self) -> Any:
        """The Arrow schema."""
        return self._columns

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> "_TableScanner":  # noqa: A002 - as there
        """A scanner of some columns, and of the rows that pass a filter.

        The filter may name further columns. An expression cannot be asked for them, so each column whose name stands in
        its text is read.
        """
        names = list(self._columns.names if columns is None else columns)
        text = "" if filter is None else str(filter)
        wanted = set(names) | {name for name in self._columns.names if name in text}
        read = [name for name in self._columns.names if name in wanted] or self._columns.names[:1]
        schema = pa.schema([self._columns.field(name) for name in names])

        def batches() -> Iterator[Any]:
            try:
                for batch in self._read(read):
                    kept = batch if filter is None else batch.filter(filter)
                    yield kept.select(names)
            except GristmillError as error:
                self.failed = error
                raise

        return _TableScanner(schema, batches)


class _TableScanner(ds.Scanner):  # type: ignore[misc]  # as above
    """Gives the batches of one scan, in the thread that asks. pyarrow's own would read ahead in threads of its own."""

    def __init__(self, schema: Any, batches: Callable[[], Iterator[Any]]) -> None:
        self._schema, self._batches = schema, batches

    @property
    def projected_schema(self) -> Any:
        """The schema of the batches."""
        return self._schema

    def to_reader(self) -> Any:
        """The batches."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())
