"""Documents as numbers: rank, shard and number of a document in one unsigned 64-bit integer, in the order of all three.

The number of a document counts those of its shard that have words. Only these have hashes.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.stages.fingerprints.order import Order

Nodes = NDArray[np.uint64]
Numbers = NDArray[np.int64] | Nodes

_DOCUMENT, _SHARD, _RANK = 28, 20, 16  # bits
_ORDINAL = 32  # low bits of a position; the high ones are the number of the shard


def nodes_of_hashes(
    ranks: NDArray[np.int64] | int, positions: Nodes, bands: int, where: str
) -> tuple[Nodes, NDArray[np.uint16]]:
    """The documents of hashes, and the number of the band of each hash.

    Args:
        ranks: ranks of the snapshots, shape (n,) or a single number.
        positions: positions of the hashes: shard << 32 | (document * bands + band), shape (n,).
        bands: number of bands of a signature.
        where: the file that they are from, for the message.

    Raises:
        DataError: a number is greater than its bits allow.

    >>> nodes, bands = nodes_of_hashes(np.array([1]), np.array([2 << 32 | 31], np.uint64), 14, "here")
    >>> rank_of_nodes(nodes).tolist(), shard_of_nodes(nodes).tolist(), document_of_nodes(nodes).tolist(), bands.tolist()
    ([1], [2], [2], [3])
    """
    shards = positions >> np.uint64(_ORDINAL)
    documents, band = np.divmod(positions & np.uint64((1 << _ORDINAL) - 1), np.uint64(bands))
    for what, found, bits in (("shards", shards, _SHARD), ("documents", documents, _DOCUMENT), ("ranks", ranks, _RANK)):
        if np.size(found) and int(np.max(found)) >> bits:
            raise DataError(f"{where}: near duplicates are compared among at most {1 << bits:,} {what}; use fewer")
    return encode_nodes(ranks, shards, documents), band.astype(np.uint16)


def encode_nodes(ranks: Numbers | int, shards: Numbers | int, documents: Numbers) -> Nodes:
    """The documents with some ranks, numbers of shards, and numbers among those of the shard that have words (n)."""
    nodes = documents.astype(np.uint64, copy=False) + (np.asarray(shards, np.uint64) << np.uint64(_DOCUMENT))
    nodes += np.asarray(ranks, np.uint64) << np.uint64(_SHARD + _DOCUMENT)
    return nodes


def rank_of_nodes(nodes: Nodes) -> NDArray[np.int64]:
    """The rank of each document's snapshot."""
    return (nodes >> np.uint64(_SHARD + _DOCUMENT)).astype(np.int64)


def shard_of_nodes(nodes: Nodes) -> NDArray[np.int64]:
    """The number of each document's shard, among the shards of its snapshot by name."""
    return (nodes >> np.uint64(_DOCUMENT)).astype(np.int64) & ((1 << _SHARD) - 1)


def part_of_nodes(nodes: Nodes) -> NDArray[np.int64]:
    """The rank and shard of each document in one number, shape (n,)."""
    return (nodes >> np.uint64(_DOCUMENT)).astype(np.int64)


def document_of_nodes(nodes: Nodes) -> NDArray[np.int64]:
    """The number of each document among those of its shard that have words."""
    return (nodes & np.uint64((1 << _DOCUMENT) - 1)).astype(np.int64)


def resolution_order_keys(nodes: Nodes, slots: Sequence[int]) -> Nodes:
    """The keys by which documents are in the order of resolution, shape (n,): the editions of a source have the rank of
    the first one.

    Args:
        nodes: documents (n).
        slots: rank whose place each rank takes; see `source_slots_of_ranks`.
    """
    moved = np.asarray(slots, np.uint64)[rank_of_nodes(nodes)] << np.uint64(_SHARD + _DOCUMENT)
    return moved | nodes & np.uint64((1 << _SHARD + _DOCUMENT) - 1)


def source_slots_of_ranks(order: Order) -> list[int]:
    """The ranks whose places in the order the ranks take, one for each: that of the first edition of its source, or its
    own.
    """
    firsts: dict[str, int] = {}
    return [
        firsts.setdefault(entry.source, rank) if entry.edition else rank for rank, entry in enumerate(order.entries)
    ]


def edition_source_numbers(order: Order) -> NDArray[np.int64]:
    """The number of the source of each rank, if its snapshots are editions; else -1. One per rank."""
    firsts = zip(source_slots_of_ranks(order), order.entries, strict=True)
    return np.array([slot if entry.edition else -1 for slot, entry in firsts], np.int64)


def equal_stretches(values: NDArray[np.int64], offset: int = 0) -> Iterator[tuple[int, int]]:
    """The begin and end of each stretch of equal values.

    >>> list(equal_stretches(np.array([7, 7, 2]))), list(equal_stretches(np.array([], np.int64)))
    ([(0, 2), (2, 3)], [])
    """
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    yield from ((offset + first, offset + last) for first, last in pairwise(edges) if last > first)
