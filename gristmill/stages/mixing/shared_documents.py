"""Documents that two streams of a mix have in common. Training would read them more often than the recipe says.

A shard has the same name in every stream of its source. So only shards of one name are compared, by their id indexes:
16 bytes a document, and only if two streams have one source.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.address import Place, mix_asset, place
from gristmill.lake.identity import HASH_BYTES, Pair, hashes_of, load_hashes, shared_by
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair, read_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix


def check_disjoint(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> None:
    """Checks that no document is in two streams.

    Args:
        store: the lake.
        mix: the recipe.
        slices: (stream, snapshot) of the finished slices that belong to the mix.

    Raises:
        DataError: two streams share documents; names both, the first document, its shard, and the mend.
        StoreError: a slice is being rebuilt.
    """
    keys = {stream.key: {snapshot for name, snapshot in slices if name == stream.key} for stream in mix.streams}
    for one, other in combinations(mix.streams, 2):
        if one.source != other.source:
            continue
        for snapshot in sorted(keys[one.key] & keys[other.key]):
            places = [place(mix_asset(mix.name, stream.key), snapshot) for stream in (one, other)]
            for shard, shared in _shared(store, *places):
                source, name = _first(store, places[0], shard, shared)
                raise DataError(
                    f"mix {mix.name!r}: the streams {one.key!r} and {other.key!r} share {len(shared):,} documents of"
                    f" shard {shard.name} ({snapshot}), such as {name!r} of {source}; give them rules that exclude"
                    " each other, or weights in place of a second stream"
                )


def _shared(store: Store, one: Place, other: Place) -> Iterator[tuple[Shard, NDArray[np.uint64]]]:
    """The shards of the first partition that share documents with the second, and the hashes of these documents."""
    there = {shard.name: shard for shard in read_table(store, other)}
    for shard in read_table(store, one):
        twin = there.get(shard.name)
        if twin is None or not shard.rows or not twin.rows:
            continue
        indexes = [
            load_hashes(store.read_range(where.index(each.name), 0, each.rows * HASH_BYTES))
            for where, each in ((one, shard), (other, twin))
        ]
        shared = shared_by(*indexes)
        if len(shared):
            yield shard, shared


def _first(store: Store, partition: Place, shard: Shard, shared: NDArray[np.uint64]) -> Pair:
    """The first row of a shard whose hash is among some."""
    wanted = set(map(tuple, shared.tolist()))
    for _, rows in read_rows(store, partition.shard(shard.name), shard.sha256, IdPair):
        for row in rows:
            if tuple(hashes_of([row.pair])[0].tolist()) in wanted:
                return row.pair
    raise DataError(f"{partition.index(shard.name)}: names documents that its shard does not have; make it again")
