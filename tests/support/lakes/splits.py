"""A split of a token cache by hand: rows of numbers in parts, a ledger a snapshot, and the merged one."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from gristmill.formats.levanter.array_writer import ObjectSink
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, dump_ledger, merged_ledger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table
from gristmill.lake.ledger.model import Recipe, Shard
from gristmill.lake.store.protocol import Store

ASSET = "token_caches/blend/tiny-1/pages"
Row = Mapping[str, Sequence[float]]
TEXT: dict[str, DType] = {"input_ids": "int32"}
CHAT: dict[str, DType] = {"input_ids": "int32", "assistant_masks": "int32"}
WEIGHED: dict[str, DType] = {"input_ids": "int32", "loss_weights": "float32"}


def texts(*rows: Sequence[int]) -> list[Row]:
    """Rows of ids alone."""
    return [{"input_ids": row} for row in rows]


def write_part(store: Store, folder: str, rows: Sequence[Row], fields: Mapping[str, DType] = TEXT) -> CacheLedger:
    """A consolidated cache."""

    def opened(name: str) -> ObjectSink:
        return store.upload(f"{folder}/{name}")

    cache = CacheWriter(opened, fields)
    cache.append_batch(
        {
            name: (
                np.array([value for row in rows for value in row[name]], dtype),
                np.array([len(row[name]) for row in rows], np.int64),
            )
            for name, dtype in fields.items()
        }
    )
    return cache.close()


def write_split(
    store: Store,
    parts: Mapping[str, Sequence[Row]],
    fields: Mapping[str, DType] = TEXT,
    *,
    asset: str = ASSET,
    split: str = "train",
) -> str:
    """A split of parts named `<snapshot>/<part>`, in this order; the folder of its merged ledger."""
    top = f"{asset}/{split}"
    ledgers: dict[str, CacheLedger] = {}
    tables: dict[str, list[Shard]] = {}
    for name, rows in parts.items():
        folder = f"{top}/{name}"
        ledgers[name] = write_part(store, folder, rows, fields)
        data = {entry.path: store.read(entry.path) for entry in store.list(f"{folder}/")}
        snapshot, _, part = name.partition("/")
        row = Shard(part, len(rows), 0, 0, "", "", "", "", ())
        row.extra["folders"] = {split: f"{folder}/"}
        row.extra["shards"] = {}
        row.extra["objects"] = {path: [hashlib.sha256(each).hexdigest(), len(each)] for path, each in data.items()}
        tables.setdefault(snapshot, []).append(row)
    for snapshot, shards in tables.items():
        here = place(asset, snapshot)
        store.put(here.table, pack_table(shards))
        store.put(here.ledger, as_json(compose_ledger(here, Recipe("by hand", 1, {}), (), shards)))
    store.put(f"{top}/{LEDGER_NAME}", dump_ledger(merged_ledger(ledgers)))
    return top
