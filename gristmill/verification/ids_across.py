"""Checks that ids are unique across the snapshots of a source.

The check is scheduled and does not block, because it reads every id index of the source.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from gristmill.execution.checks import Verdict
from gristmill.execution.finding import check_answers
from gristmill.lake.address import Place, place
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import read_head, read_table
from gristmill.lake.ledger.id_search import (
    BUCKET,
    Highs,
    ReadIndex,
    find_sightings,
    index_reader,
    load_index_range,
    repeated_upper_halves,
)
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store

NAME = "ids_unique_across"
_BETWEEN = "\x1f"
_CONFIRMED = 100
"""Number of repeated hashes that are compared with the ids in the rows; the others are only counted."""


def check_ids_across_snapshots(store: Store, asset: str, snapshots: Sequence[str], bucket: int = BUCKET) -> Verdict:
    """Checks that no two rows of the finished snapshots have the same (source, id).

    Args:
        store: the lake.
        asset: address of a dataset version's documents.
        snapshots: the snapshots that Dagster knows. Those that are not finished are counted and left out.
        bucket: number of hashes that are compared at once; it limits the memory.

    Returns:
        The verdict, with the first pair that occurs twice.

    Raises:
        DataError: an index contradicts its ledger.
        StoreError: the lake does not answer.
    """
    places = {key: place(asset, key) for key in sorted(snapshots)}
    finished = {key: partition for key, partition in places.items() if read_head(store, partition) is not None}
    if not finished:
        check_answers(store)
    shards = {key: read_table(store, partition) for key, partition in finished.items()}
    named = [_shard_with_snapshot(key, shard) for key, rows in shards.items() for shard in rows]
    read = _index_reader(store, finished)
    highs = repeated_upper_halves(read, named, bucket)
    facts: dict[str, int | float | str] = {
        "snapshots": len(finished),
        "snapshots not finished": len(places) - len(finished),
        "shards": len(named),
        "ids compared": sum(shard.rows for shard in named),
        "hashes that repeat": len(highs),
    }
    repeated = _confirm_repeated_pairs(store, finished, shards, read, highs[:_CONFIRMED])
    if not repeated:
        return Verdict(NAME, passed=True, description=f"{facts['ids compared']:,} ids, no two alike", metadata=facts)
    (source, id_), rows_of = next(iter(repeated.items()))
    text = (
        f"id {id_!r} (source {source!r}) is in {rows_of[0]} and in {rows_of[1]}; {len(highs):,} such ids in"
        " all; include the snapshot in the ids, or declare the source's snapshots as 'replace'"
    )
    return Verdict(NAME, passed=False, description=text, metadata=facts)


def _shard_with_snapshot(snapshot: str, shard: Shard) -> Shard:
    """The shard, with its snapshot added to its name, so that names are unique across snapshots."""
    return msgspec.structs.replace(shard, name=f"{snapshot}{_BETWEEN}{shard.name}")


def _index_reader(store: Store, places: dict[str, Place]) -> ReadIndex:
    """Reads the index of a shard that `_shard_with_snapshot` has renamed."""
    readers = {key: index_reader(store, partition) for key, partition in places.items()}

    def read(name: str, start: int, end: int) -> bytes:
        snapshot, _, shard = name.partition(_BETWEEN)
        return readers[snapshot](shard, start, end)

    return read


def _confirm_repeated_pairs(
    store: Store, places: dict[str, Place], shards: dict[str, list[Shard]], read: ReadIndex, highs: Highs
) -> dict[Pair, list[str]]:
    """The (source, id) pairs that more than one row has, with the paths and numbers of these rows."""
    rows_of: dict[Pair, list[str]] = {}
    if not len(highs):
        return rows_of
    for snapshot, partition in places.items():
        for shard in shards[snapshot]:
            index = load_index_range(read, _shard_with_snapshot(snapshot, shard))[:, 0]
            if np.isin(highs, index).any():
                for sighting in find_sightings(store, partition, shard, highs):
                    rows_of.setdefault(sighting.pair, []).append(f"{partition.shard(shard.name)} row {sighting.row}")
    return {pair: rows for pair, rows in rows_of.items() if len(rows) > 1}
