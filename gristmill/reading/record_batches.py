"""Record batches of a shard: documents, where they stand, and their labels, joined row by row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gristmill.errors import StoreError
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.id_index import hash_pair
from gristmill.lake.store.protocol import Store
from gristmill.reading.columns import ReadColumn, schema_of_columns
from gristmill.reading.document_arrays import (
    Row,
    RowLines,
    decode_rows,
    document_values,
    text_values,
    values_as_arrow_array,
)
from gristmill.reading.feeds import (
    AlignedFeed,
    ForwardFeed,
    LabelFeed,
    PickedFeed,
    pair_of_row,
    read_picked_lines,
    read_shard_lines,
)
from gristmill.reading.label_arrays import label_arrays
from gristmill.reading.partitions import ReadShard

Picked = Mapping[int, bytes]
"""Some rows of a shard: their numbers, ascending, and the hash of the (source, id) of each."""


@dataclass(frozen=True)
class BatchReader:
    """Reads shards as record batches of one schema.

    Attributes:
        store: the lake.
        columns: columns of the batches.
        verified: whether each shard's sha256 is compared with its ledger.
    """

    store: Store
    columns: tuple[ReadColumn, ...]
    verified: bool = True

    @property
    def schema(self) -> Any:
        """The Arrow schema of the batches."""
        return schema_of_columns(self.columns)

    def batches_of_shard(self, shard: ReadShard, origin: dict[str, str], picked: Picked | None = None) -> Iterator[Any]:
        """The rows of a shard, one record batch for each block of about 4 MiB.

        Args:
            shard: the shard, with its sets.
            origin: the values of the columns that say where its rows stand.
            picked: numbers of the rows that are read, ascending, and the hash of each (source, id); None: all rows.
                Some rows are read by the offsets in the ledger, without the rest of the shard; then it is not hashed.

        Raises:
            DataError: a row is wrong, or a set does not match.
            StoreError: a shard is not the one that its ledger names; this is raised after its last batch.
        """
        for values in self._value_blocks(shard, origin, picked):
            arrays = [
                found if isinstance(found, pa.Array) else values_as_arrow_array(column, found)
                for column, found in zip(self.columns, values, strict=True)
            ]
            yield pa.record_batch(arrays, schema=self.schema)

    def rows_of_shard(self, shard: ReadShard, origin: dict[str, str]) -> Iterator[dict[str, Any]]:
        """The rows of a shard as dictionaries, in half the time that Arrow's take. Raises the errors of of_shard."""
        names = [column.name for column in self.columns]
        for values in self._value_blocks(shard, origin, None):
            found = [
                each.to_pylist(maps_as_pydicts="strict") if isinstance(each, pa.Array) else each for each in values
            ]
            for row in zip(*found, strict=True):
                yield dict(zip(names, row, strict=True))

    def _value_blocks(self, shard: ReadShard, origin: dict[str, str], picked: Picked | None) -> Iterator[list[Any]]:
        """The values of each column, as a list or an array, block by block."""
        file = shard.file(self.store)
        blocks = (
            read_shard_lines(file, verified=self.verified) if picked is None else read_picked_lines(file, list(picked))
        )
        feeds = self._label_feeds(shard, some=picked is not None)
        for held in blocks:
            rows = decode_rows(held)
            if picked is not None:
                _check_picked(rows, held, picked)
            yield self._column_values(held, rows, feeds, origin)
        if picked is None:
            for feed in feeds.values():
                feed.finish(file.path)

    def _label_feeds(self, shard: ReadShard, *, some: bool) -> dict[str, LabelFeed]:
        feeds: dict[str, LabelFeed] = {}
        for name, (where, beside) in shard.sets.items():
            file = open_shard(self.store, where, beside)
            if not shard.is_whole:
                feeds[name] = ForwardFeed(file, verified=self.verified)
            elif some:
                feeds[name] = PickedFeed(file)
            else:
                feeds[name] = AlignedFeed(file, verified=self.verified)
        return feeds

    def _column_values(
        self, held: RowLines, rows: list[Row], feeds: dict[str, LabelFeed], origin: dict[str, str]
    ) -> list[Any]:
        values: dict[str, Any] = {}
        for column in self.columns:
            if column.kind == "origin":
                values[column.name] = [origin[column.path]] * len(rows)
            elif column.kind == "row":
                values[column.name] = held.numbers
            elif not column.set:
                values[column.name] = document_values(column, rows, held)
        if feeds:
            pairs = list(zip(text_values(rows, "source", held), text_values(rows, "id", held), strict=True))
            for name, feed in feeds.items():
                beside, labels = feed.labels_of(pairs, held)
                wanted = [column for column in self.columns if column.set == name]
                values |= label_arrays(wanted, labels, beside, _text_lengths_once(rows, held))
        return [values[column.name] for column in self.columns]


def _check_picked(rows: list[Row], held: RowLines, picked: Picked) -> None:
    """Checks that rows are those that the shard's index has at their numbers."""
    for row, number in zip(rows, held.numbers, strict=True):
        if hash_pair(pair_of_row(row, held.path, number)) != picked[number]:
            raise StoreError(
                f"{held.path}: row {number} is not the row that the shard's index names: the shard is being rebuilt;"
                " try again, or verify it"
            )


def _text_lengths_once(rows: list[Row], held: RowLines) -> Callable[[], list[int]]:
    return lambda: [len(text) for text in text_values(rows, "text", held)]
