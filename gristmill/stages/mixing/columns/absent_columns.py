"""AbsentColumns: a column that no row of a shard has is an error, because its path may be misspelt.

A rule on such a column would drop every row, or none, without a word. It is allowed if the column says so, or if the
tagger declares that documents may lack the label. What counts is the key: an empty list of spans, and the null of a
document's field, are values.
"""

from collections.abc import Collection, Mapping, Sequence

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.address import Place, attributes_beside
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.edit import is_of_edit
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import is_attribute, label_of_column, set_of_column
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.tagger import Tagger
from gristmill.stages.mixing.row_filter import ABSENT


class AbsentColumns:
    """The columns of a selection that a shard must not lack altogether.

    Args:
        store: the lake.
        documents: the partition that is read.
        columns: the columns of the selection.
        optional: names of those that all rows of a shard may lack.
        shelves: the packages that hold the taggers; they are read only when a label is absent.
    """

    def __init__(
        self,
        store: Store,
        documents: Place,
        columns: Sequence[Column],
        optional: Collection[str],
        shelves: Sequence[str],
    ) -> None:
        self._store, self._documents, self._shelves = store, documents, shelves
        self._columns = [column for column in columns if column.name not in optional]

    def check(self, shard: Shard, counts: Mapping[str, int], sets: Mapping[str, Shard] | None = None) -> None:
        """Checks one shard after its last row. A shard without rows lacks nothing.

        Args:
            shard: the shard of documents.
            counts: the number of its rows that lack a column, by ABSENT and the column's name.
            sets: its shard of each attribute set, for the message.

        Raises:
            DataError: no row has a column; names set, label, shard and mend.
        """
        for column in self._columns:
            lacking = counts.get(f"{ABSENT}{column.name}", 0)
            if lacking and lacking == shard.rows and not self._is_optional(column):
                raise DataError(self._absent_column_message(column, shard, sets or {}))

    def _is_optional(self, column: Column) -> bool:
        """Whether the tagger declares that documents may lack the label."""
        if not is_attribute(column):
            return False
        try:
            label = find_recipe("taggers", Tagger, self._shelves, set_of_column(column)).declaration(
                label_of_column(column)
            )
        except RecipeError:  # the set of a tagger that this worker does not know
            return False
        return label is not None and label.optional

    def _absent_column_message(self, column: Column, shard: Shard, sets: Mapping[str, Shard]) -> str:
        rows = "its only row does not have" if shard.rows == 1 else f"none of its {shard.rows:,} rows has"
        if not is_attribute(column):
            path = open_shard(self._store, self._documents, shard).path
            return (
                f"{path}: {rows} {column.path} (column {column.name!r}); correct the path,"
                f" or say field({column.path!r}, ..., optional=True) if a whole shard may lack it"
            )
        beside = attributes_beside(self._documents, set_of_column(column))
        file = ShardFile(self._store, beside.shard(shard.name), shard)
        if set_of_column(column) in sets:
            file = open_shard(self._store, beside, sets[set_of_column(column)])
        mend = f"Edit(spans={column.path!r}, ..." if is_of_edit(column) else f"{column.type}({column.path!r}"
        label, name = label_of_column(column), set_of_column(column)
        return (
            f"{file.path}: {rows} a label {label!r} of the set {name} (column {column.name!r});"
            f" {known_names(label, self._first_block_labels(file, name))}; correct the label, or say"
            f" {mend}, optional=True) if a whole shard may lack it"
        )

    @staticmethod
    def _first_block_labels(file: ShardFile, name: str) -> list[str]:
        """The labels in the first block of a set's shard."""
        block = next(file.blocks(verified=False), b"")
        return sorted({label for row in parse_rows(split_rows(block), name, file.path, 0) for label in row.labels})
