"""Columns of an attribute set: for each shard a parquet file beside the ledger, made from the shard's bytes alone.

`<ledger>.columns/<shard>.parquet` has `id`, `source`, `row`, and for each label `<set>__<label>`: a score as a double;
of spans their number (`<set>__<label>__spans`), the code points in
them (`...__characters`) and the highest score (`...__score`). Labels whose spans a rule reads have them as lists too
(`...__list`), if they were asked for. Code points in two spans count twice. A bare number is a span of 0 code points,
and `source` is empty where the row has none: the shard alone tells no more.
The file is derived: it names the `content` of its shard, and whoever reads it compares. A stale one counts as absent.
"""

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import AttributeRow, parse_rows
from gristmill.lake.rows.label_values import declaration_of_label
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.scores.parquet_upload import write_parquet
from gristmill.scores.statistics import LabelStatistics, number_statistics, sum_statistics

FORMAT = 2
"""Of the files. Files of another format count as absent."""
MOST_LABELS = 1000
"""Labels of a file. Of a shard with more, those that most rows have."""
CHUNK = 1 << 16
"""Rows that are turned into columns together."""
KEY = b"gristmill"
WHOLE_TEXT = -(1 << 62)
"""The end of a span in a list if the row has a bare number: such a span ends where the text ends."""
LIST = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64())]))
"""The type of a column of lists of spans, as rules get them."""

Kind = Literal["score", "spans"]


class ColumnsHead(msgspec.Struct, frozen=True):
    """What a file says of itself.

    Attributes:
        format: version of the format; see FORMAT.
        content: digest of the content of the shard that it was made from.
        kinds: kinds of its labels, by name; a label that no tagger declares is spans.
        statistics: statistics of its labels, sorted by name.
        left_out: labels that the shard has, and the file has not.
        several: labels of which a row has more than one span, sorted.
        lists: labels whose spans the file has as lists, sorted.
    """

    format: int
    content: str
    kinds: dict[str, Kind]
    statistics: tuple[LabelStatistics, ...]
    left_out: int = 0
    several: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


def make_columns(
    store: Store,
    partition: Place,
    shard: Shard,
    kinds: Mapping[str, str] | None,
    target: Store | None = None,
    lists: Collection[str] = (),
) -> ColumnsHead:
    """Reads a shard of an attribute set, and writes its columns.

    Args:
        store: the lake.
        partition: partition of the set.
        shard: its row of the ledger's table.
        kinds: kinds of labels, as their tagger declares them: a name may be a pattern. None: none is declared.
        target: store that receives the file, under its path in the lake; None: in the lake.
        lists: labels whose spans the file has as lists too. Those that the shard lacks are left out.

    Returns:
        What the file says of itself.

    Raises:
        DataError: a row is wrong.
        StoreError: the shard is not the one that its ledger names.
    """
    name = names_in_asset_address(partition.asset)["set"]
    parts: dict[str, list[LabelStatistics]] = {}
    held: Counter[str] = Counter()
    several = set[str]()
    with tempfile.TemporaryFile() as file:
        ends = [0]
        for first, rows in _attribute_row_chunks(store, partition, shard, name):
            batch, found = _label_batch(rows, first, name, shard.name, kinds, lists)
            several.update(label for row in rows for label, spans in row.labels.items() if len(spans) > 1)
            for each in found:
                parts.setdefault(each.name, []).append(each)
                held[each.name] += each.rows
            ends.append(ends[-1] + file.write(_pack_batch(batch)))
        head = _columns_head(shard.content, parts, held, several, lists)
        schema = _label_schema(head, name)
        write_parquet(target or store, columns_path(partition, shard.name), schema, _unpack_batches(file, ends))
    return head


def _columns_head(
    content: str,
    parts: Mapping[str, Sequence[LabelStatistics]],
    held: Counter[str],
    several: Collection[str],
    lists: Collection[str],
) -> ColumnsHead:
    labels = sorted(sorted(held), key=lambda label: -held[label])[:MOST_LABELS]
    statistics = tuple(sum_statistics(parts[label]) for label in sorted(labels))
    kinds: dict[str, Kind] = {each.name: each.kind for each in statistics}
    return ColumnsHead(
        FORMAT,
        content,
        kinds,
        statistics,
        len(held) - len(labels),
        tuple(sorted(set(several).intersection(labels))),
        tuple(sorted(set(lists).intersection(labels))),
    )


def _attribute_row_chunks(
    store: Store, partition: Place, shard: Shard, name: str
) -> Iterator[tuple[int, list[AttributeRow]]]:
    file = open_shard(store, partition, shard)
    first, waiting = 0, list[AttributeRow]()
    for block in file.blocks():
        lines = split_rows(block)
        waiting += parse_rows(lines, name, file.path, first + len(waiting), [WHOLE_TEXT] * len(lines))
        while len(waiting) >= CHUNK:
            yield first, waiting[:CHUNK]
            first, waiting = first + CHUNK, waiting[CHUNK:]
    if waiting:
        yield first, waiting


def _label_batch(
    rows: Sequence[AttributeRow],
    first: int,
    name: str,
    shard: str,
    kinds: Mapping[str, str] | None,
    lists: Collection[str],
) -> tuple[Any, list[LabelStatistics]]:
    columns: dict[str, Any] = {
        "id": pa.array([row.id for row in rows], pa.string()),
        "source": pa.array([row.source for row in rows], pa.string()),
        "row": pa.array(np.arange(first, first + len(rows)), pa.int64()),
    }
    statistics: list[LabelStatistics] = []
    for label in sorted({label for row in rows for label in row.labels}):
        spans = [row.labels.get(label) for row in rows]
        if label in lists:
            columns[f"{name}__{label}__list"] = list_array(spans)
        kind: Kind = "score" if declaration_of_label(label, kinds or {}) == "score" else "spans"
        places = np.array([i for i, each in enumerate(spans) if (each if kind == "score" else each is not None)], int)
        present = [spans[i] or [] for i in places]
        highest = np.array([max((score for _, _, score in each), default=np.nan) for each in present], np.float64)
        if kind == "score":
            columns[f"{name}__{label}"] = _spread_to_places(highest, places, len(rows), pa.float64())
            statistics.append(number_statistics(label, kind, highest, first + places, shard))
            continue
        counts = np.array([len(each) for each in present], np.int64)
        sizes = np.array([sum(_span_size(*span) for span in each) for each in present], np.int64)
        columns[f"{name}__{label}__spans"] = _spread_to_places(counts, places, len(rows), pa.int64())
        columns[f"{name}__{label}__characters"] = _spread_to_places(sizes, places, len(rows), pa.int64())
        columns[f"{name}__{label}__score"] = _spread_to_places(highest, places, len(rows), pa.float64())
        statistics.append(
            number_statistics(
                label, kind, counts.astype(np.float64), first + places, shard, characters=int(sizes.sum())
            )
        )
    return pa.record_batch(columns), statistics


def _span_size(start: int, end: int, _: float) -> int:
    """The code points of a span; 0 if it is the whole text, whose length the set does not say."""
    return 0 if end == WHOLE_TEXT else end - start


def list_array(rows: Sequence[Sequence[tuple[int, int, float]] | None]) -> Any:
    """The spans of rows as a column of type LIST; None becomes null."""
    flat = [span for spans in rows for span in spans or ()]
    starts, ends, scores = zip(*flat, strict=True) if flat else ((), (), ())
    items = pa.StructArray.from_arrays(
        [pa.array(starts, pa.int64()), pa.array(ends, pa.int64()), pa.array(scores, pa.float64())],
        names=["start", "end", "score"],
    )
    lengths = np.array([len(spans or ()) for spans in rows], np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    missing = pa.array([spans is None for spans in rows], pa.bool_())
    return pa.ListArray.from_arrays(offsets, items, type=LIST, mask=missing)


def _spread_to_places(values: Any, places: Any, count: int, kind: Any) -> Any:
    """Values at their places in a column; other places, and those that are no number, are null."""
    column = np.zeros(count, values.dtype)
    column[places] = np.nan_to_num(values)
    missing = np.ones(count, bool)
    missing[places] = np.isnan(values)
    return pa.array(column, kind, mask=missing)


def _pack_batch(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _unpack_batches(file: Any, ends: Sequence[int]) -> Iterator[Any]:
    file.seek(0)
    for begin, end in pairwise(ends):
        yield from pa.ipc.open_stream(file.read(end - begin))


def columns_of_label(name: str, label: str, kind: Kind) -> list[tuple[str, Any]]:
    """The columns of a label, with their Arrow types.

    Args:
        name: name of the set.
        label: its name.
        kind: its kind.
    """
    full = f"{name}__{label}"
    if kind == "score":
        return [(full, pa.float64())]
    return [(f"{full}__spans", pa.int64()), (f"{full}__characters", pa.int64()), (f"{full}__score", pa.float64())]


PLACES = (("id", pa.string()), ("source", pa.string()), ("row", pa.int64()))
"""The columns of a file that belong to no label."""


def _label_schema(head: ColumnsHead, name: str) -> Any:
    fields = list(PLACES)
    for label, kind in head.kinds.items():
        fields += columns_of_label(name, label, kind)
    fields += [(f"{name}__{label}__list", LIST) for label in head.lists]
    return pa.schema(fields, metadata={KEY: msgspec.json.encode(head)})
