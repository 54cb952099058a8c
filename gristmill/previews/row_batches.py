"""RowReader: the rows of a shard as rules get them, from the columns beside its ledgers; the text only where it must.

A shard's columns are made when they are missing or stale, and kept. A shard is read as the build reads it if a rule
needs the text, if rows are not written as they are, or if the columns cannot say what the build would: then the values,
the edits and the errors are the build's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from gristmill.errors import DataError, MalformedRow, RecipeError, StoreError
from gristmill.lake.address import Place, attributes_beside
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import Blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.transform import Transform
from gristmill.recipes.mixture.held_out import KEY_NAME
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import Selection, is_attribute, label_of_column, set_of_column
from gristmill.scores.column_file import ColumnsFile, open_columns, open_document_columns
from gristmill.scores.described import has_kinds
from gristmill.scores.document_columns import DocumentColumnsHead, Field, column_of_field, make_document_columns
from gristmill.scores.label_columns import LIST, WHOLE_TEXT, ColumnsHead, make_columns
from gristmill.stages.mixing.columns.column_reader import origin_value
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.row_filter import ABSENT, RowFilter
from gristmill.stages.mixing.rule_engine import ValueRefused, typed_array

BATCH = 1 << 18
"""Rows that are judged together, if they come from columns."""

Kinds = Mapping[str, Mapping[str, str] | None]
"""The kinds of the labels of each set, as its tagger declares them; None: no recipe declares them."""


class RowBatch(NamedTuple):
    """Some rows of a shard.

    Attributes:
        first: number of the first row in the shard.
        values: the columns that rules may name, as typed_array() gives them.
        places: `bytes` (of the line) and `characters` (of the text) of each row. If they are needed, also
            `source` and `id`.
        built: the rows as the build decides about them and changes them; None if it writes rows as they are.
        keys: the key by which a mix holds rows out; None if it has none.
    """

    first: int
    values: Any
    places: Any
    built: FilteredBlock | None = None
    keys: Any = None


class NeededBytes(NamedTuple):
    """What must be read of a shard, in bytes of its files.

    Attributes:
        columns: size of files whose columns are missing or stale: they are read once, and their columns are kept.
        text: size of files of documents, and of sets beside them, that are read in each preview.
    """

    columns: int
    text: int


class RowReader:
    """Reads the rows of the shards of one snapshot of a dataset version.

    Args:
        store: the lake.
        documents: the partition.
        selection: its columns are read.
        kinds: kinds of the labels of the sets that the columns name.
        blocklists: blocklists that it names.
        transforms: transforms that it names, in its order.
        keyed: whether batches have `source` and `id`, though neither blocklists nor a rate nor a key need them.
    """

    def __init__(
        self,
        store: Store,
        documents: Place,
        selection: Selection,
        kinds: Kinds,
        blocklists: Sequence[Blocklist] = (),
        transforms: Sequence[Transform] = (),
        *,
        keyed: bool = False,
    ) -> None:
        self._store, self._documents, self._kinds = store, documents, kinds
        self._columns = selection.read_columns
        held_out = [column for column in self._columns if column.name == KEY_NAME]
        self._ruled = (*selection.columns, *held_out)
        self._fields = _fields_of_columns(self._columns)
        self._lists = {
            name: {label_of_column(c) for c in self._columns if c.type == "spans" and set_of_column(c) == name}
            for name in selection.sets
        }
        drawn = keyed or selection.blocklists or selection.rate < 1 or held_out
        self._places = ["bytes", "characters", *(["source", "id"] if drawn else [])]
        self._changed = selection.changes_rows
        self._of_text = self._changed or any(column.path == "text" for column in self._columns)
        if self._changed:
            self._as_built = RowFilter(store, documents, selection, blocklists, transforms)
        else:
            bare = replace(selection, include=(), exclude=(), blocklists=(), rate=1.0)
            self._as_built = RowFilter(store, documents, bare, ())

    def needed(self, shard: Shard, sets: Mapping[str, Shard]) -> NeededBytes:
        """The bytes of a shard and its sets that must be read before the columns are there.

        Args:
            shard: the documents.
            sets: its shard of each set.
        """
        missing = 0 if self._open_columns_file(shard) else shard.bytes
        text = shard.bytes + sum(each.bytes for each in sets.values())
        if self._of_text:
            return NeededBytes(missing, text)
        labels = {name: self._opened_set(name, row) for name, row in sets.items()}
        missing += sum(sets[name].bytes for name, file in labels.items() if file is None)
        known = {name: file.head for name, file in labels.items() if file is not None}
        return NeededBytes(missing, text if self._must_read(known) else 0)

    def batches(self, shard: Shard, sets: Mapping[str, Shard], counts: dict[str, int]) -> Iterator[RowBatch]:
        """The rows of a shard, in order.

        Args:
            shard: the documents.
            sets: its shard of each set.
            counts: counter that receives the number of rows that lack a column, by ABSENT and the column's name. If a
                set lacks a label, that is all its rows; else its rows are not counted.

        Raises:
            DataError: a row is wrong, a set does not match, or a value does not have the declared type.
            StoreError: a shard is not the one that its ledger names, or the lake does not answer.
        """
        file = self._open_columns_file(shard) or self._make_columns_file(shard)
        read = {} if self._of_text else sets
        labels = {name: self._opened_set(name, row) or self._made_set(name, row) for name, row in read.items()}
        places = file.table(self._places)
        if self._of_text or self._must_read({name: each.head for name, each in labels.items()}):
            yield from self._as_built_batches(shard, sets, places, counts)
            return
        values = self._column_values(file, labels, places, counts)
        for first in range(0, shard.rows, BATCH):
            yield _row_batch(first, values.slice(first, BATCH), places.slice(first, BATCH))

    def _must_read(self, labels: Mapping[str, ColumnsHead]) -> bool:
        """Whether the columns of sets cannot say what the build would."""
        for column in filter(is_attribute, self._columns):
            head, label = labels.get(set_of_column(column)), label_of_column(column)
            if head is None:
                continue
            if label not in head.kinds and head.left_out:  # of a shard with very many labels the file has some
                return True
            if column.type == "score" and label in head.several:  # an error, which the build can tell best
                return True
        return False

    def _column_values(
        self,
        file: ColumnsFile[DocumentColumnsHead],
        labels: Mapping[str, ColumnsFile[ColumnsHead]],
        places: Any,
        counts: dict[str, int],
    ) -> Any:
        rows = places.num_rows
        fields = file.table([column_of_field(*field) for field in self._fields])
        sets = {name: each.table(self._columns_of_set(name, each.head)) for name, each in labels.items()}
        arrays = []
        for column in self._columns:
            if column.is_origin:
                value = origin_value(column)
                arrays.append(pa.array([value] * rows, pa.string()))
                counts[f"{ABSENT}{column.name}"] = 0 if value else rows
                continue
            if not is_attribute(column):
                name = column_of_field(column.path, column.type)
                arrays.append(fields.column(name))
                counts[f"{ABSENT}{column.name}"] = file.head.absent.get(name, 0)
                continue
            found = _stored_column(column, labels[set_of_column(column)].head)
            if found is None:
                counts[f"{ABSENT}{column.name}"] = rows
                arrays.append(pa.nulls(rows, pa.float64() if column.type == "score" else LIST))
            else:
                stored = sets[set_of_column(column)].column(found)
                arrays.append(
                    stored if column.type == "score" else _end_spans_at_text(stored, places.column("characters"))
                )
        every = pa.table(arrays, names=[column.name for column in self._columns])
        return every.select([column.name for column in self._ruled])

    def _columns_of_set(self, name: str, head: ColumnsHead) -> list[str]:
        """The columns of a set's file that are read; one at least, so that the table has rows."""
        mine = [column for column in self._columns if is_attribute(column) and set_of_column(column) == name]
        return sorted({found for column in mine if (found := _stored_column(column, head))}) or ["row"]

    def _as_built_batches(
        self, shard: Shard, sets: Mapping[str, Shard], places: Any, counts: dict[str, int]
    ) -> Iterator[RowBatch]:
        path = open_shard(self._store, self._documents, shard).path
        for block in self._as_built.blocks(shard, sets, counts):
            try:
                arrays = [typed_array(column, block.values[column.name]) for column in self._ruled]
            except ValueRefused as error:
                mend = "mend the data, the rule or the column"
                raise MalformedRow(path, block.first + error.row, str(error), mend) from error
            values = pa.table(arrays, names=[column.name for column in self._ruled])
            built = block if self._changed else None
            yield _row_batch(block.first, values, places.slice(block.first, len(block.pairs)), built)

    def _open_columns_file(self, shard: Shard) -> ColumnsFile[DocumentColumnsHead] | None:
        """The columns of a shard, if they have all fields that are wanted."""
        file = open_document_columns(self._store, self._documents, shard)
        return file if file and set(self._fields) <= set(file.head.fields) else None

    def _opened_set(self, name: str, shard: Shard) -> ColumnsFile[ColumnsHead] | None:
        file = open_columns(self._store, attributes_beside(self._documents, name), shard)
        if file is None or not has_kinds(file.head, self._kinds.get(name)):
            return None
        return file if self._lists[name] & set(file.head.kinds) <= set(file.head.lists) else None

    def _make_columns_file(self, shard: Shard) -> ColumnsFile[DocumentColumnsHead]:
        """Makes the columns of a shard. Fields that other selections have asked for are kept, if they still can be."""
        before = open_document_columns(self._store, self._documents, shard)
        held = set(before.head.fields) if before else set()
        try:
            make_document_columns(self._store, self._documents, shard, sorted(held | set(self._fields)))
        except (DataError, RecipeError):
            if not held:
                raise
            make_document_columns(self._store, self._documents, shard, self._fields)
        made = self._open_columns_file(shard)
        return made or self._raise_lost_columns(shard)

    def _made_set(self, name: str, shard: Shard) -> ColumnsFile[ColumnsHead]:
        partition = attributes_beside(self._documents, name)
        before = open_columns(self._store, partition, shard)
        lists = self._lists[name] | set(before.head.lists if before else ())
        make_columns(self._store, partition, shard, self._kinds.get(name), lists=lists)
        made = self._opened_set(name, shard)
        return made or self._raise_lost_columns(shard)

    def _raise_lost_columns(self, shard: Shard) -> NoReturn:
        raise StoreError(f"{self._documents.asset}: shard {shard.name}: others write its columns too; try again")


def _row_batch(first: int, values: Any, places: Any, built: FilteredBlock | None = None) -> RowBatch:
    """A batch; the key is apart from the columns of rules."""
    if KEY_NAME not in values.column_names:
        return RowBatch(first, values, places, built)
    return RowBatch(first, values.drop_columns([KEY_NAME]), places, built, values.column(KEY_NAME))


def _fields_of_columns(columns: Sequence[Column]) -> list[Field]:
    return sorted({(c.path, c.type) for c in columns if not is_attribute(c) and not c.is_origin and c.path != "text"})


def _stored_column(column: Column, head: ColumnsHead) -> str | None:
    """The column of a set's file that has the values of a declared column; None if no row has the label."""
    kind = head.kinds.get(label_of_column(column))
    if kind is None:
        return None
    if column.type == "spans":
        return f"{column.path}__list"
    return column.path if kind == "score" else f"{column.path}__score"


def _end_spans_at_text(lists: Any, characters: Any) -> Any:
    """Lists of spans, in which bare numbers end where the text ends."""
    import pyarrow.compute as pc  # noqa: PLC0415 - a twentieth of the time in which Dagster loads the definitions

    column = lists.combine_chunks()
    column = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    items = column.flatten()
    ends = items.field("end").to_numpy()
    if not (ends == WHOLE_TEXT).any():
        return lists
    rows = pc.list_parent_indices(column).to_numpy()
    ends = np.where(ends == WHOLE_TEXT, characters.to_numpy()[rows], ends)
    spans = pa.StructArray.from_arrays(
        [items.field("start"), pa.array(ends), items.field("score")], names=["start", "end", "score"]
    )
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, spans, type=LIST, mask=pc.is_null(column))
