"""Checks of a mix as a whole. What is made from a mix that fails one is not closed either: nobody trains on it.

Documents that two streams have in common would be read more often than the recipe says. A shard has the same name in
every stream of its source. So only shards of one name are compared, by their id indexes: 16 bytes a document, and only
if two streams have one source.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, NewerSchema
from gristmill.lake.address import Place, mix_asset, mix_index, place
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.identity import HASH_BYTES, Pair, hashes_shared_by, load_hashes, sorted_pair_hashes
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import read_head, read_table
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.store.protocol import Store
from gristmill.recipes.drift.drop_reasons import BLOCKED
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.held_out import check_divided


def check_mix(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> None:
    """Checks the slices of a mix together.

    Args:
        store: the lake.
        mix: the mix's recipe.
        slices: (stream, snapshot) of each finished slice.

    Raises:
        DataError: two streams share documents, a stream keeps no row, or a key holds out nothing or nearly everything.
        StoreError: a slice is being rebuilt.
    """
    _check_shared_documents(store, mix, slices, _heads_by_stream(store, mix, slices))


def check_closed_mix(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> None:
    """The same for what is made from the slices. If the mix has an index that closes them, they were checked already.

    Args: and what it raises: as check_mix().
    """
    heads = _heads_by_stream(store, mix, slices)
    index = _read_mix_index(store, mix)
    made_from = {head.upstream for of_stream in heads.values() for head in of_stream}
    if index is None or not made_from <= set(index.inputs):
        _check_shared_documents(store, mix, slices, heads)


def _check_shared_documents(
    store: Store, mix: Mix, slices: Sequence[tuple[str, str]], heads: dict[str, list[Head]]
) -> None:
    check_disjoint(store, mix, slices)
    check_keeps_rows(mix.name, heads)
    check_divided(mix.name, mix.validation, sum_counts(head.totals for each in heads.values() for head in each))


def _heads_by_stream(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> dict[str, list[Head]]:
    """The heads of the slices of the mix, by stream; without those that the lake does not have."""
    heads: dict[str, list[Head]] = {stream.key: [] for stream in mix.streams}
    for stream, snapshot in slices:
        head = read_head(store, place(mix_asset(mix.name, stream), snapshot))
        if head is not None:
            heads[stream].append(head)
    return heads


def _read_mix_index(store: Store, mix: Mix) -> IndexLedger | None:
    """The ledger of the mix's index; None if it is missing or damaged."""
    try:
        return read_index_ledger(store, ledger_of_asset(mix_index(mix.name)))
    except NewerSchema:
        raise
    except DataError:
        return None


def check_keeps_rows(mix: str, slices: Mapping[str, Sequence[Head]]) -> None:
    """Checks that a stream whose selection dropped rows has kept some, in one slice at least.

    A stream without rows passes if it had none to drop, or if blocklists alone dropped them: what was taken down must
    leave the index.

    Args:
        mix: name of the mix, for the message.
        slices: the heads of the slices that belong to its index, by stream.

    Raises:
        DataError: a stream keeps nothing; names it, and how many rows each reason dropped.
    """
    for stream, heads in slices.items():
        dropped = sum_counts(head.dropped for head in heads)
        chosen = {reason: rows for reason, rows in dropped.items() if not reason.startswith(BLOCKED.format(""))}
        if chosen and not any(head.totals.get("rows") for head in heads):
            most = sorted(dropped.items(), key=lambda each: (-each[1], each[0]))
            reasons = ", ".join(f"{reason}: {rows:,}" for reason, rows in most[:5])
            raise DataError(
                f"mix {mix!r}, stream {stream!r}: keeps no row of {sum(dropped.values()):,} ({reasons}); correct"
                " the rules, or leave the stream out"
            )


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
            for shard, shared in _find_shared_documents(store, *places):
                source, name = _first_shared_pair(store, places[0], shard, shared)
                raise DataError(
                    f"mix {mix.name!r}: the streams {one.key!r} and {other.key!r} share {len(shared):,} documents of"
                    f" shard {shard.name} ({snapshot}), such as {name!r} of {source}; give them rules that exclude"
                    " each other, or weights in place of a second stream"
                )


def _find_shared_documents(store: Store, one: Place, other: Place) -> Iterator[tuple[Shard, NDArray[np.uint64]]]:
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
        shared = hashes_shared_by(*indexes)
        if len(shared):
            yield shard, shared


def _first_shared_pair(store: Store, partition: Place, shard: Shard, shared: NDArray[np.uint64]) -> Pair:
    """The first row of a shard whose hash is among some."""
    wanted = set(map(tuple, shared.tolist()))
    for _, rows in open_shard(store, partition, shard).rows(IdPair):
        for row in rows:
            if tuple(sorted_pair_hashes([row.pair])[0].tolist()) in wanted:
                return row.pair
    raise DataError(f"{partition.index(shard.name)}: names documents that its shard does not have; make it again")
