"""Ids across the snapshots of a source: scheduled and not blocking, as it reads every id index there is."""

from collections.abc import Sequence

import msgspec
import numpy as np

from gristmill.execution.checks import Verdict
from gristmill.lake.address import Place, place
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import read_head, read_table
from gristmill.lake.ledger.id_search import (
    BUCKET,
    Highs,
    ReadIndex,
    index_reader,
    load_whole,
    repeated_highs,
    sightings,
)
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store

NAME = "ids_unique_across"
_BETWEEN = "\x1f"
_CONFIRMED = 100
"""Repeated hashes that are looked up among the real ids; the rest are counted."""


def ids_across(store: Store, asset: str, snapshots: Sequence[str], bucket: int = BUCKET) -> Verdict:
    """No (source, id) pair in two places of any of the finished snapshots.

    Args:
        store: the lake.
        asset: a dataset version's documents.
        snapshots: those that Dagster knows; what is not finished is left out, and said.
        bucket: hashes compared at once; bounds the memory.

    Raises:
        DataError: an index is not what its ledger says.
    """
    places = {key: place(asset, key) for key in sorted(snapshots)}
    finished = {key: here for key, here in places.items() if read_head(store, here) is not None}
    shards = {key: read_table(store, here) for key, here in finished.items()}
    named = [_named(key, shard) for key, rows in shards.items() for shard in rows]
    read = _reader(store, finished)
    highs = repeated_highs(read, named, bucket)
    facts: dict[str, int | float | str] = {
        "snapshots": len(finished),
        "snapshots not finished": len(places) - len(finished),
        "shards": len(named),
        "ids compared": sum(shard.rows for shard in named),
        "hashes that repeat": len(highs),
    }
    found = _confirmed(store, finished, shards, read, highs[:_CONFIRMED])
    if not found:
        return Verdict(NAME, passed=True, description=f"{facts['ids compared']:,} ids, no two alike", metadata=facts)
    (source, id_), places_of = next(iter(found.items()))
    text = (
        f"id {id_!r} (source {source!r}) stands in {places_of[0]} and in {places_of[1]}; {len(highs):,} such ids in"
        " all; let the ids carry their snapshot, or declare the source's snapshots as 'replace'"
    )
    return Verdict(NAME, passed=False, description=text, metadata=facts)


def _named(snapshot: str, shard: Shard) -> Shard:
    """A shard under a name that says its snapshot too."""
    return msgspec.structs.replace(shard, name=f"{snapshot}{_BETWEEN}{shard.name}")


def _reader(store: Store, places: dict[str, Place]) -> ReadIndex:
    readers = {key: index_reader(store, here) for key, here in places.items()}

    def read(name: str, start: int, end: int) -> bytes:
        snapshot, _, shard = name.partition(_BETWEEN)
        return readers[snapshot](shard, start, end)

    return read


def _confirmed(
    store: Store, places: dict[str, Place], shards: dict[str, list[Shard]], read: ReadIndex, highs: Highs
) -> dict[Pair, list[str]]:
    """Pairs that really stand in several places, with these places."""
    found: dict[Pair, list[str]] = {}
    if not len(highs):
        return found
    for snapshot, here in places.items():
        for shard in shards[snapshot]:
            index = load_whole(read, _named(snapshot, shard))[:, 0]
            if np.isin(highs, index).any():
                for seen in sightings(store, here, shard, highs):
                    found.setdefault(seen.pair, []).append(f"{here.shard(shard.name)} row {seen.row}")
    return {pair: rows for pair, rows in found.items() if len(rows) > 1}
