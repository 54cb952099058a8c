"""The clusters of earlier rounds. Their labels are never changed: new documents join them, and they never merge."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.cluster_files import CLUSTER, MEMBER, Records, find_nodes, records_of
from gristmill.stages.near_duplicates.inputs import WHOLE, ClusterInputs
from gristmill.stages.near_duplicates.nodes import Nodes, rank_of


class EarlierClusters:
    """Reads the clusters of the rounds before.

    Args:
        store: the lake.
        inputs: the round.
    """

    def __init__(self, store: Store, inputs: ClusterInputs) -> None:
        self._store, self._inputs = store, inputs

    def firsts(self, nodes: Nodes) -> Nodes:
        """The first document of the cluster of each document; a document that is in none is the first of its own.

        Args:
            nodes: documents of earlier rounds (n).
        """
        firsts = nodes.copy()
        ranks = rank_of(nodes)
        for rank in np.unique(ranks).tolist():
            (of_rank,) = np.nonzero(ranks == rank)
            table = self._inputs.earlier[self._inputs.order.entries[rank].round - 1]
            data = read_part_file(self._store, table.rows[WHOLE], table.place.table, str(rank))
            members = records_of(data, MEMBER, f"{table.place.table}: file {rank}")
            at, known = find_nodes(members, nodes[of_rank])
            firsts[of_rank[known]] = members["first"][at[known]]
        return firsts

    def known(self, firsts: Nodes) -> tuple[Records, NDArray[np.bool_]]:
        """The CLUSTER record of each cluster as of the last round that changed it, and whether it has one.

        Args:
            firsts: first documents (n).
        """
        found = np.zeros(len(firsts), CLUSTER)
        if not len(self._all):
            return found, np.zeros(len(firsts), np.bool_)
        at = np.searchsorted(self._all["first"], firsts)
        at[at == len(self._all)] = 0
        known = self._all["first"][at] == firsts
        found[known] = self._all[at[known]]
        return found, known

    @cached_property
    def _all(self) -> Records:
        """The last record of each cluster, by ascending first document."""
        rounds = [
            records_of(
                read_part_file(self._store, table.rows[WHOLE], table.place.table, "clusters"),
                CLUSTER,
                f"{table.place.table}: file clusters",
            )
            for table in reversed(self._inputs.earlier)
        ]
        records = np.concatenate([np.zeros(0, CLUSTER), *rounds])
        _, last = np.unique(records["first"], return_index=True)
        return records[last]
