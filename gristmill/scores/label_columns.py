"""Columns of an attribute set: for each shard a parquet file beside the ledger, made from the shard's bytes alone.

`<ledger>.columns/<shard>.parquet` has `id`, `source`, `row`, and for each label `<set>__<label>`: a score as a double;
of spans their number (`<set>__<label>__spans`), the code points in
them (`...__characters`) and the highest score (`...__score`).
The file is derived: it names the `content` of its shard, and whoever reads it compares. A stale one counts as absent.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import Conflict
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.adopted import shard_file
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import AttributeRow, parse_rows
from gristmill.lake.rows.label_values import declared_as
from gristmill.lake.rows.shard_file import read_blocks, rows_of
from gristmill.lake.store.protocol import Store
from gristmill.scores.statistics import LabelStatistics, added, numbers_of

FORMAT = 1
"""Of the files. Files of another format count as absent."""
MOST_LABELS = 1000
"""Labels of a file. Of a shard with more, those that most rows have."""
CHUNK = 1 << 16
"""Rows that are turned into columns together."""
KEY = b"gristmill"

Kind = Literal["score", "spans"]


class ColumnsHead(msgspec.Struct, frozen=True):
    """What a file says of itself.

    Attributes:
        format: see FORMAT.
        content: of the shard that it was made from.
        kinds: of its labels, by name; a label that no tagger declares is spans.
        statistics: of its labels, sorted by name.
        left_out: labels that the shard has, and the file has not.
    """

    format: int
    content: str
    kinds: dict[str, Kind]
    statistics: tuple[LabelStatistics, ...]
    left_out: int = 0


def make_columns(
    store: Store, partition: Place, shard: Shard, kinds: Mapping[str, str] | None, target: Store | None = None
) -> ColumnsHead:
    """Reads a shard of an attribute set, and writes its columns.

    Args:
        store: the lake.
        partition: of the set.
        shard: its row of the ledger's table.
        kinds: of labels, as their tagger declares them: a name may be a pattern. None: none is declared.
        target: where the file is written, under its path in the lake; None: in the lake.

    Returns:
        What the file says of itself.

    Raises:
        DataError: a row is wrong.
        StoreError: the shard is not the one that its ledger names.
    """
    name = names_of(partition.asset)["set"]
    parts: dict[str, list[LabelStatistics]] = {}
    held: Counter[str] = Counter()
    with tempfile.TemporaryFile() as file:
        ends = [0]
        for first, rows in _chunks(store, partition, shard, name):
            batch, found = _batch(rows, first, name, shard.name, kinds)
            for each in found:
                parts.setdefault(each.name, []).append(each)
                held[each.name] += each.rows
            ends.append(ends[-1] + file.write(_packed(batch)))
        labels = sorted(sorted(held), key=lambda label: -held[label])[:MOST_LABELS]
        statistics = tuple(added(parts[label]) for label in sorted(labels))
        head = ColumnsHead(
            FORMAT, shard.content, {each.name: each.kind for each in statistics}, statistics, len(held) - len(labels)
        )
        _write(target or store, columns_path(partition, shard.name), head, name, _unpacked(file, ends))
    return head


def _chunks(store: Store, partition: Place, shard: Shard, name: str) -> Iterator[tuple[int, list[AttributeRow]]]:
    where, path = shard_file(store, partition, shard)
    first, waiting = 0, list[AttributeRow]()
    for block in read_blocks(where, path, shard.sha256):
        waiting += parse_rows(rows_of(block), name, path, first + len(waiting))
        while len(waiting) >= CHUNK:
            yield first, waiting[:CHUNK]
            first, waiting = first + CHUNK, waiting[CHUNK:]
    if waiting:
        yield first, waiting


def _batch(
    rows: Sequence[AttributeRow], first: int, name: str, shard: str, kinds: Mapping[str, str] | None
) -> tuple[Any, list[LabelStatistics]]:
    columns: dict[str, Any] = {
        "id": pa.array([row.id for row in rows], pa.string()),
        "source": pa.array([row.source for row in rows], pa.string()),
        "row": pa.array(np.arange(first, first + len(rows)), pa.int64()),
    }
    statistics: list[LabelStatistics] = []
    for label in sorted({label for row in rows for label in row.labels}):
        spans = [row.labels.get(label) for row in rows]
        kind: Kind = "score" if declared_as(label, kinds or {}) == "score" else "spans"
        places = np.array([i for i, each in enumerate(spans) if (each if kind == "score" else each is not None)], int)
        present = [spans[i] or [] for i in places]
        highest = np.array([max((score for _, _, score in each), default=np.nan) for each in present], np.float64)
        if kind == "score":
            columns[f"{name}__{label}"] = _spread(highest, places, len(rows), pa.float64())
            statistics.append(numbers_of(label, kind, highest, first + places, shard))
            continue
        counts = np.array([len(each) for each in present], np.int64)
        sizes = np.array([sum(end - start for start, end, _ in each) for each in present], np.int64)
        columns[f"{name}__{label}__spans"] = _spread(counts, places, len(rows), pa.int64())
        columns[f"{name}__{label}__characters"] = _spread(sizes, places, len(rows), pa.int64())
        columns[f"{name}__{label}__score"] = _spread(highest, places, len(rows), pa.float64())
        statistics.append(
            numbers_of(label, kind, counts.astype(np.float64), first + places, shard, characters=int(sizes.sum()))
        )
    return pa.record_batch(columns), statistics


def _spread(values: Any, places: Any, count: int, kind: Any) -> Any:
    """Values at their places in a column; other places, and those that are no number, are null."""
    column = np.zeros(count, values.dtype)
    column[places] = np.nan_to_num(values)
    missing = np.ones(count, bool)
    missing[places] = np.isnan(values)
    return pa.array(column, kind, mask=missing)


def _packed(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _unpacked(file: Any, ends: Sequence[int]) -> Iterator[Any]:
    file.seek(0)
    for begin, end in pairwise(ends):
        yield from pa.ipc.open_stream(file.read(end - begin))


def columns_of_label(name: str, label: str, kind: Kind) -> list[tuple[str, Any]]:
    """The columns of a label, with their Arrow types.

    Args:
        name: of the set.
        label: its name.
        kind: its kind.
    """
    full = f"{name}__{label}"
    if kind == "score":
        return [(full, pa.float64())]
    return [(f"{full}__spans", pa.int64()), (f"{full}__characters", pa.int64()), (f"{full}__score", pa.float64())]


PLACES = (("id", pa.string()), ("source", pa.string()), ("row", pa.int64()))
"""The columns of a file that belong to no label."""


class _Sink:
    """An upload as the file that pyarrow writes to."""

    closed = False

    def __init__(self, upload: Any) -> None:
        self._upload = upload

    def write(self, data: Any) -> int:
        held = bytes(data)
        self._upload.write(held)
        return len(held)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """The upload is closed by its owner."""


def _write(store: Store, path: str, head: ColumnsHead, name: str, batches: Iterator[Any]) -> None:
    fields = list(PLACES)
    for label, kind in head.kinds.items():
        fields += columns_of_label(name, label, kind)
    schema = pa.schema(fields, metadata={KEY: msgspec.json.encode(head)})
    upload = store.upload(path)
    try:
        with pq.ParquetWriter(
            _Sink(upload), schema, compression="zstd", compression_level=1, write_page_checksum=True
        ) as writer:
            for batch in batches:
                absent = (pa.nulls(batch.num_rows, field.type) for field in schema)
                here = set(batch.schema.names)
                arrays = [
                    batch.column(field.name) if field.name in here else empty
                    for field, empty in zip(schema, absent, strict=True)
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        upload.close()
    except Conflict:
        return  # another writer was first; its file says what it was made from
    except BaseException:
        upload.abort()
        raise
