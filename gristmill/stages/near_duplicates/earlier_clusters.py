"""The clusters of earlier rounds and layers. Their labels never change: new documents join them, and none merge."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.cluster_files import (
    CLUSTER,
    MEMBER,
    Records,
    decode_cluster_records,
    find_member_nodes,
    read_members,
)
from gristmill.stages.near_duplicates.inputs import WHOLE, ClusterInputs
from gristmill.stages.near_duplicates.nodes import Nodes, rank_of_nodes


class EarlierClusters:
    """Reads the clusters of the rounds before, and holds those of the layers of this round that are compared.

    Args:
        store: the lake.
        inputs: the round.

    Attributes:
        members: the MEMBER records of this round, by ascending document.
        clusters: the CLUSTER records of this round, by ascending first document.
    """

    def __init__(self, store: Store, inputs: ClusterInputs) -> None:
        self._store, self._inputs = store, inputs
        self.members, self.clusters = np.zeros(0, MEMBER), np.zeros(0, CLUSTER)

    def add(self, members: Records, clusters: Records) -> None:
        """Adds a layer of this round.

        Args:
            members: its MEMBER records (n).
            clusters: a CLUSTER record for each cluster that it made or added to.
        """
        if len(self.members):
            members = np.concatenate([self.members, members])
            members = members[np.argsort(members["node"])]
        self.members, self.clusters = members, _first_cluster_records(clusters, self.clusters)

    def first_documents(self, nodes: Nodes) -> Nodes:
        """The first document of the cluster of each document; a document that is in none is the first of its own.

        Args:
            nodes: documents of earlier rounds, or layers of this one (n).
        """
        firsts = nodes.copy()
        ranks = rank_of_nodes(nodes)
        for rank in np.unique(ranks).tolist():
            (of_rank,) = np.nonzero(ranks == rank)
            members = self._members_of_snapshot(rank)
            at, known = find_member_nodes(members, nodes[of_rank])
            firsts[of_rank[known]] = members["first"][at[known]]
        return firsts

    def _members_of_snapshot(self, rank: int) -> Records:
        """MEMBER records that have all those of a snapshot."""
        number = self._inputs.order.entries[rank].round
        if number == self._inputs.round:
            return self.members
        table = self._inputs.earlier[number - 1]
        shards = len(self._inputs.fingerprints[rank].rows)
        return read_members(self._store, table.rows[WHOLE], table.place.table, rank, shards)

    @property
    def cluster_numbers(self) -> Nodes:
        """The numbers of all clusters (n)."""
        return np.concatenate([self._last_cluster_records["cluster"], self.clusters["cluster"]])

    def known_records(self, firsts: Nodes) -> tuple[Records, NDArray[np.bool_]]:
        """The CLUSTER record of each cluster as of the last layer that changed it, and whether it has one.

        Args:
            firsts: first documents (n).
        """
        found = np.zeros(len(firsts), CLUSTER)
        clusters = (
            _first_cluster_records(self.clusters, self._last_cluster_records)
            if len(self.clusters)
            else self._last_cluster_records
        )
        if not len(clusters):
            return found, np.zeros(len(firsts), np.bool_)
        at = np.searchsorted(clusters["first"], firsts)
        at[at == len(clusters)] = 0
        known = clusters["first"][at] == firsts
        found[known] = clusters[at[known]]
        return found, known

    @cached_property
    def _last_cluster_records(self) -> Records:
        """The last record of each cluster of earlier rounds, by ascending first document."""
        rounds = [
            decode_cluster_records(
                read_part_file(self._store, table.rows[WHOLE], table.place.table, "clusters"),
                CLUSTER,
                f"{table.place.table}: file clusters",
            )
            for table in reversed(self._inputs.earlier)
        ]
        return _first_cluster_records(*rounds)


def _first_cluster_records(*newest_first: Records) -> Records:
    """The first CLUSTER record of each cluster, by ascending first document."""
    records = np.concatenate([np.zeros(0, CLUSTER), *newest_first])
    _, last = np.unique(records["first"], return_index=True)
    return records[last]
