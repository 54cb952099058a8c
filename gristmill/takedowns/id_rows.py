"""Finds the rows of wanted documents in the shards of a partition, through their id indexes.

Few documents are looked for by small reads of an index that is as the run wrote it; many, by reading the whole index.
An index that is read whole must have the digest that the ledger records. A proof always reads the whole index.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from typing import NamedTuple

import msgspec
import numpy as np

from gristmill.errors import DataError, GristmillError
from gristmill.lake.address import Place
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES, Pair, load_hashes
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.id_index import IdIndex
from gristmill.lake.ledger.id_search import find_sightings
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.takedowns.wanted import Wanted
from gristmill.threads import thread_pool

AT_ONCE = 32
"""Indexes that are read at the same time: a bucket answers a request in about 20 ms."""

_GROUP = 8
"""Indexes that one thread reads, one after another. Reading a small file costs less than starting a thread's task."""


class ShardRows(NamedTuple):
    """The rows of wanted documents in one shard.

    Attributes:
        shard: the row of the table.
        rows: the number of each document's row.
        why: reason why the shard could not be searched; empty if it was.
    """

    shard: Shard
    rows: dict[Pair, int]
    why: str = ""


def rows_by_shard(
    store: Store, place: Place, shards: Sequence[Shard], wanted: Wanted, *, proven: bool, scan: bool = False
) -> Iterator[ShardRows]:
    """The rows of wanted documents in each shard of a partition of documents or of a mix, in the order of the shards.

    Args:
        store: the lake.
        place: the partition.
        shards: the rows of its table.
        wanted: the documents.
        proven: whether each index is read whole.
        scan: whether the rows of a shard are read if its index cannot be.
    """

    def search(group: Sequence[Shard]) -> list[ShardRows]:
        found = [_search_shard_index(store, place, shard, wanted, stamps) for shard in group]
        return [scanned_rows(store, place, each.shard, wanted) if each.why and scan else each for each in found]

    # What a run has written is probed; an object that was replaced since, such as by a copy of before, is read whole.
    stamps = {} if proven else read_run_note(store, place).stamps
    groups = [shards[start : start + _GROUP] for start in range(0, len(shards), _GROUP)]
    with thread_pool(AT_ONCE) as pool:
        for found in pool.map(search, groups):
            yield from found


def scanned_rows(store: Store, place: Place, shard: Shard, wanted: Wanted) -> ShardRows:
    """The rows of wanted documents in a shard, found by reading all of its rows.

    A row of a set may have no source: then its id decides.

    Args:
        store: the lake.
        place: the partition.
        shard: the row of the table.
        wanted: the documents.
    """
    rows: dict[Pair, int] = {}
    try:
        for first, block in open_shard(store, place, shard).rows(_ScannedRow, verified=bool(shard.sha256)):
            for number, row in enumerate(block, first):
                for pair in wanted.by_id.get(str(row.id), ()):
                    if row.source in {None, pair[0]}:
                        rows[pair] = number
    except GristmillError as error:
        return ShardRows(shard, {}, str(error))
    return ShardRows(shard, rows)


class _ScannedRow(msgspec.Struct):
    id: str | int
    source: str | None = None


def _search_shard_index(
    store: Store, place: Place, shard: Shard, wanted: Wanted, stamps: Mapping[str, ObjectVersion]
) -> ShardRows:
    try:
        few = len(wanted) * 4 < isqrt(shard.rows)
        rows = (
            _probe_index(store, place, shard, wanted) if few and _is_as_written(store, place, shard, stamps) else None
        )
        return ShardRows(shard, rows if rows is not None else _read_whole_index(store, place, shard, wanted))
    except GristmillError as error:
        return ShardRows(shard, {}, str(error))


def _is_as_written(store: Store, place: Place, shard: Shard, stamps: Mapping[str, ObjectVersion]) -> bool:
    """Whether the index of a shard surely is the object that the run wrote."""
    stamp = stamps.get(place.index(shard.name))
    entry = store.head(place.index(shard.name)) if stamp else None
    return stamp is not None and entry is not None and stamp.same(entry)


def _probe_index(store: Store, place: Place, shard: Shard, wanted: Wanted) -> dict[Pair, int] | None:
    """By small reads around the place where a hash would be; None if the index has no row numbers."""
    index = IdIndex(store, place, shard)
    rows: dict[Pair, int] = {}
    for pair, digest in wanted.digests.items():
        position = index.find_position(digest)
        if position is not None:
            row = index.row_at(position)
            if row is None:
                return None
            rows[pair] = row
    return rows


def _read_whole_index(store: Store, place: Place, shard: Shard, wanted: Wanted) -> dict[Pair, int]:
    path = place.index(shard.name)
    tagged = store.read_tagged(path)
    if tagged is None:
        raise DataError(f"{path} is missing; make its shard again")
    data, rows = tagged[0], shard.rows
    if hashlib.sha256(data).hexdigest() != shard.index:
        raise DataError(f"{path}: another sha256 than its ledger names; make its shard again")
    if len(data) < rows * HASH_BYTES:
        raise DataError(f"{path} ends early; make its shard again")
    there = load_hashes(data[: rows * HASH_BYTES])
    found: dict[Pair, int] = {}
    for pair, digest in wanted.digests.items():
        position = _find_digest(there, digest)
        if position is None:
            continue
        if len(data) < rows * (HASH_BYTES + ROW_BYTES):  # an index of Gristmill 0.1 has hashes only
            high = np.frombuffer(digest[:8], ">u8").astype(np.uint64)
            found |= {each.pair: each.row for each in find_sightings(store, place, shard, high) if each.pair == pair}
        else:
            start = rows * HASH_BYTES + position * ROW_BYTES
            found[pair] = int.from_bytes(data[start : start + ROW_BYTES], "big")
    return found


def _find_digest(hashes: "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]", digest: bytes) -> int | None:
    """The position of a digest among sorted hashes."""
    high, low = (np.uint64(int.from_bytes(digest[start : start + 8], "big")) for start in (0, 8))
    first = int(np.searchsorted(hashes[:, 0], high, "left"))
    last = int(np.searchsorted(hashes[:, 0], high, "right"))
    hits = np.flatnonzero(hashes[first:last, 1] == low)
    return first + int(hits[0]) if len(hits) else None
