"""Grouping: from similar pairs to clusters, each with its first document and the one that is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.stages.fingerprints.order import Order
from gristmill.stages.near_duplicates.components import connected_components
from gristmill.stages.near_duplicates.earlier_clusters import EarlierClusters
from gristmill.stages.near_duplicates.nodes import (
    Nodes,
    edition_source_numbers,
    rank_of_nodes,
    resolution_order_keys,
    source_slots_of_ranks,
)

Values = Callable[[Nodes], NDArray[np.float64]]
"""Gives each document a number, by which the greatest is kept."""


@dataclass(frozen=True)
class Grouped:
    """The clusters of one round.

    Attributes:
        nodes: the documents of the round that are in a cluster, ascending (n).
        clusters: the number of the cluster of each (n).
        firsts: the first document of each cluster, ascending (c).
        kept: the document of each cluster that is kept (c).
        sizes: documents of each cluster after the round (c).
        numbers: the number of each cluster that an earlier round named; 0: a new one (c).
        touched: further clusters that a component touched and did not join: clusters that never merge.
    """

    nodes: Nodes
    clusters: NDArray[np.int64]
    firsts: Nodes
    kept: Nodes
    sizes: NDArray[np.int64]
    numbers: Nodes
    touched: int


def group_pairs(one: Nodes, other: Nodes, old: NDArray[np.bool_], earlier: EarlierClusters, order: Order,
            values: Values | None) -> Grouped:  # fmt: skip
    """The clusters that similar pairs make.

    The documents of the layer are joined with each other. A component that touches earlier clusters, or earlier
    documents in no cluster, joins the best-ranked of them, and what that keeps is kept. Of a component that touches
    none, one document is kept. No component joins a cluster that keeps another edition of one of its documents.

    Args:
        one: a document of each pair (n).
        other: the other, of this layer of the round (n).
        old: whether `one` is of an earlier round or layer, as flags (n).
        earlier: the earlier clusters.
        order: the order of snapshots.
        values: value of each document (n). The document with the greatest is kept; None: the first. Equal values: the
            first of these documents.
    """
    slots, may = source_slots_of_ranks(order), _may_join_cluster(one, other, old, earlier, order)
    one, other, old = one[may], other[may], old[may]
    nodes = np.unique(np.concatenate([other, one[~old]]))
    joined = connected_components(len(nodes), np.searchsorted(nodes, one[~old]), np.searchsorted(nodes, other[~old]))
    firsts, touched = _earlier_cluster_joins(
        joined[np.searchsorted(nodes, other[old])], one[old], earlier, slots, len(nodes)
    )
    by = np.lexsort((nodes, resolution_order_keys(nodes, slots), joined))
    heads = by[_is_first_of_equals(joined[by])]  # the first document of each component
    is_new = firsts[joined[heads]] == _NONE
    firsts[joined[heads[is_new]]] = nodes[heads[is_new]]
    of_node = firsts[joined]
    kept = nodes[heads[is_new]]
    if values is not None:
        kept = _greatest_value_nodes(nodes, joined, by, values)[is_new]
    different, clusters, counts = np.unique(of_node, return_inverse=True, return_counts=True)
    known, is_known = earlier.known_records(different)
    return Grouped(
        nodes=nodes,
        clusters=clusters,
        firsts=different,
        kept=_choose_kept_documents(different, nodes[heads[is_new]], kept, known["kept"], is_known),
        sizes=counts + _earlier_cluster_sizes(different, nodes[heads[is_new]], known["size"], is_known),
        numbers=known["cluster"].astype(np.uint64),
        touched=touched,
    )


_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


def _is_first_of_equals(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of ordered values is the first of its equals."""
    begins = np.ones(len(values), np.bool_)
    begins[1:] = values[1:] != values[:-1]
    return begins


def _may_join_cluster(
    one: Nodes, other: Nodes, old: NDArray[np.bool_], earlier: EarlierClusters, order: Order
) -> NDArray[np.bool_]:
    """Whether each pair counts: not if its cluster keeps another edition of a source of the component (n)."""
    may, sources = np.ones(len(one), np.bool_), edition_source_numbers(order)
    nodes = np.unique(np.concatenate([other, one[~old]]))
    own, count = sources[rank_of_nodes(nodes)], len(sources)
    if (own < 0).all():
        return may
    heads, places = np.unique(one[old], return_inverse=True)
    firsts = earlier.first_documents(heads)
    known, is_known = earlier.known_records(firsts)
    kept = sources[rank_of_nodes(np.where(is_known, known["kept"], firsts))][places]
    joined = connected_components(len(nodes), np.searchsorted(nodes, one[~old]), np.searchsorted(nodes, other[~old]))
    within = (joined * count + own)[own >= 0]
    may[old] = (kept < 0) | ~np.isin(joined[np.searchsorted(nodes, other[old])] * count + kept, within)
    return may


def _earlier_cluster_joins(joined: NDArray[np.int64], heads: Nodes, earlier: EarlierClusters, slots: Sequence[int],
           count: int) -> tuple[Nodes, int]:  # fmt: skip
    """For each component the first document of the earlier cluster that it joins, or _NONE; and how many it does not.

    Args:
        joined: the component of each pair (n).
        heads: the earlier document of each pair (n).
        earlier: the earlier clusters.
        slots: as in group_pairs().
        count: number of components, as the greatest number of one and 1.
    """
    firsts = np.full(count, _NONE)
    if not len(heads):
        return firsts, 0
    different, places = np.unique(heads, return_inverse=True)
    found = earlier.first_documents(different)[places]
    by = np.lexsort((found, resolution_order_keys(found, slots), joined))
    joined, found = joined[by], found[by]
    begins = _is_first_of_equals(joined)
    firsts[joined[begins]] = found[begins]
    others = (found[1:] != found[:-1]) & ~begins[1:]
    return firsts, int(others.sum())


def _greatest_value_nodes(nodes: Nodes, joined: NDArray[np.int64], by: NDArray[np.int64], values: Values) -> Nodes:
    """The document with the greatest value of each component, in the order of components.

    Args:
        nodes: documents (n).
        joined: their components (n).
        by: the places of documents by component, and in each by order (n).
        values: gives each a value.
    """
    found = values(nodes)[by]
    best = by[np.lexsort((np.arange(len(by)), -found, joined[by]))]
    return nodes[best[_is_first_of_equals(joined[best])]]


def _choose_kept_documents(firsts: Nodes, new: Nodes, kept: Nodes, known: Nodes, is_known: NDArray[np.bool_]) -> Nodes:
    """What each cluster keeps: as an earlier round decided, an earlier document that was in no cluster, or as given."""
    found = np.where(is_known, known, firsts)
    found[np.searchsorted(firsts, new)] = kept
    return found.astype(np.uint64)


def _earlier_cluster_sizes(
    firsts: Nodes, new: Nodes, known: NDArray[np.uint32], is_known: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """How many documents of each cluster are of earlier rounds."""
    sizes = np.where(is_known, known, 1).astype(np.int64)
    sizes[np.searchsorted(firsts, new)] = 0
    return sizes
