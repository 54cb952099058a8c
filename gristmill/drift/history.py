"""The snapshots that a snapshot is compared with: those before it that were made alike, the nearest ones."""

import heapq
from collections.abc import Iterable, Iterator, Sequence

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import kind_of
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.protocol import Store
from gristmill.text.natural_order import natural_sort_key

COMPARED = 5
"""Most snapshots that one is compared with."""
LOOKED_AT = 20
"""Most keys whose ledgers are looked for: some were never made, or by another recipe."""

Maker = tuple[str, frozenset[tuple[str, str]]]
"""What makes a partition: the digest of its recipe, and the models and tokenizers with their fingerprints."""


def maker_of_shards(shards: Sequence[Shard]) -> Maker:
    """The maker of a partition, by the rows of its table. One shard or more."""
    first = shards[0]
    return first.recipe, frozenset((i.asset, i.content) for i in first.inputs if _is_whole(i.asset))


def maker_of_head(head: Ledger) -> Maker:
    """The maker of a partition, by its head."""
    return head.recipe.digest, frozenset((i.asset, i.fingerprint) for i in head.inputs if _is_whole(i.asset))


def _is_whole(asset: str) -> bool:
    return bool((kind := kind_of(asset)) and kind.whole)


def nearest_before(snapshot: str, known: Iterable[str], accept: str) -> list[str]:
    """The keys before a snapshot in natural order, the nearest first; LOOKED_AT at most.

    Args:
        snapshot: its key.
        known: the keys of all snapshots of its source.
        accept: the snapshot from which a new level holds; empty: the same level holds for all.

    >>> nearest_before("3.11", ["3.12", "3.9", "3.10", "3.8"], "")
    ['3.10', '3.9', '3.8']
    >>> nearest_before("3.11", ["3.12", "3.9", "3.10", "3.8"], "3.9"), nearest_before("3.8", ["3.7"], "3.9")
    (['3.10', '3.9'], ['3.7'])
    """
    end, new = natural_sort_key(snapshot), natural_sort_key(accept) if accept else []
    begin = new if new and end >= new else []
    return heapq.nlargest(
        LOOKED_AT, (key for key in set(known) if begin <= natural_sort_key(key) < end), key=natural_sort_key
    )


def heads_before(store: Store, asset: str, keys: Sequence[str], maker: Maker) -> list[Ledger]:
    """The heads of the nearest partitions before one that were made alike, the oldest first; COMPARED at most.

    Args:
        store: the lake.
        asset: the asset.
        keys: keys of the snapshots, as for nearest_before().
        maker: maker of the partition.

    Raises:
        StoreError: the lake does not answer.
    """
    found: list[Ledger] = []
    for head in _readable_heads(store, asset, keys):
        if _is_alike(head, maker):
            found.append(head)
        if len(found) == COMPARED:
            break
    return found[::-1]


def _readable_heads(store: Store, asset: str, keys: Sequence[str]) -> Iterator[Ledger]:
    """The heads that there are. One that is damaged concerns its own partition alone, whose survey tells it."""
    for key in keys:
        try:
            head = read_head(store, place(asset, key))
        except DataError:
            continue
        if head is not None:
            yield head


def _is_alike(head: Ledger, maker: Maker) -> bool:
    """Whether a partition has shards, made by the same. Without shards, its raw data have vanished."""
    return bool(head.totals.get("shards")) and maker_of_head(head) == maker
