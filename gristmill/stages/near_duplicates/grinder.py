"""The grinder of clusters: one part that holds the clusters of a round."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe, Scope
from gristmill.recipes.duplicates.units import unit_of_parameters
from gristmill.stages.fingerprints.binary_part import BinaryPart
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.near_duplicates.cluster_files import Records, encode_clusters_parquet, write_members
from gristmill.stages.near_duplicates.earlier_clusters import EarlierClusters
from gristmill.stages.near_duplicates.grouping import Values, group_pairs
from gristmill.stages.near_duplicates.inputs import ClusterInputs
from gristmill.stages.near_duplicates.labelled import (
    document_pairs,
    largest_clusters,
    member_records,
    new_cluster_records,
    sizes_by_power,
)
from gristmill.stages.near_duplicates.nodes import Nodes, rank_of_nodes
from gristmill.stages.near_duplicates.pairs.candidates import members_of_buckets
from gristmill.stages.near_duplicates.pairs.exact_similarity import Exact
from gristmill.stages.near_duplicates.pairs.signature_rows import SignatureRows
from gristmill.stages.near_duplicates.pairs.similarity import Estimated, Similarity
from gristmill.stages.near_duplicates.pairs.verified import verify_pairs
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments
from gristmill.stages.near_duplicates.score_values import ScoreValues

_MIB = 1 << 20
_SHARE = 4  # a block of pairs takes this share of the memory


class ClustersSpec(OneAssetSpec, frozen=True):
    """What the part needs.

    Attributes:
        dedupe: name of the recipe.
        sources: its sources.
        unit: the options of its signatures.
        scope: scope of the recipe, see Dedupe.
        memory: most MiB that comparing may use.
        order: the order of snapshots.
        round: number of the round.
    """

    dedupe: str
    sources: tuple[str, ...]
    unit: dict[str, Any]
    scope: Scope
    memory: int
    order: Order
    round: int


class ClustersItem(msgspec.Struct, frozen=True):
    """The part: what it is made from."""

    inputs: tuple[Input, ...]


class ClustersGrinder(ShardGrinder[ClustersSpec, ClustersItem]):
    """Grinds the one part of a round."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        spec = self._spec
        unit = unit_of_parameters(spec.unit)
        self._dedupe = Dedupe(name=spec.dedupe, unit=unit, sources=spec.sources, scope=spec.scope, memory=spec.memory)

    def grind(self, item: Item, body: ClustersItem) -> Outcome:
        spec = self._spec
        inputs = ClusterInputs.read(self._store, self._dedupe, spec.order, spec.round)
        inputs.check_same(body.inputs)
        output = BinaryPart(self._store, spec, item.name, body.inputs)
        made = Round(self._store, inputs)
        return self.grind_shard(output, lambda: made.write(output))


class Round:
    """One round.

    Args:
        store: the lake.
        inputs: its tables.
    """

    def __init__(self, store: Store, inputs: ClusterInputs) -> None:
        self._store, self._inputs = store, inputs
        self._printed = PrintedDocuments(store, inputs.fingerprints)
        self._earlier = EarlierClusters(store, inputs)

    def write(self, part: BinaryPart) -> None:
        """Finds the clusters, and writes the files of the part."""
        inputs, counts = self._inputs, Counter[str]()
        for layer in inputs.compared_rank_layers:
            counts.update(self._cluster_layer(layer))
        members, clusters = self._earlier.members, self._earlier.clusters
        ranks = rank_of_nodes(members["node"])
        for rank in inputs.new_ranks:
            first, last = np.searchsorted(ranks, [rank, rank + 1])
            write_members(part, rank, members[first:last], len(inputs.fingerprints[rank].rows))
        part.file("clusters").write(clusters.tobytes())
        part.file("clusters.parquet").write(self._for_people(members, clusters))
        part.rows = len(members)
        part.counts = {**counts, "clusters": len(clusters), "duplicates": int(members["duplicate"].sum())}
        largest = msgspec.to_builtins(largest_clusters(clusters))
        part.facts = {"sizes": sizes_by_power(clusters["size"].tolist()), "largest": largest}

    def _cluster_layer(self, layer: Sequence[int]) -> dict[str, int]:
        """Finds the clusters of snapshots that are compared together. Returns counts."""
        inputs, similarity = self._inputs, self._open_similarity()
        members_of_groups = partial(members_of_buckets, self._store, inputs, layer)
        pairs, counts = verify_pairs(members_of_groups, similarity, inputs.unit.least, inputs.unit.verification)
        old = ~np.isin(rank_of_nodes(pairs.one), layer)
        found = group_pairs(pairs.one, pairs.other, old, self._earlier, inputs.order, self._keeper_values())
        clusters = new_cluster_records(found, self._printed, self._earlier.cluster_numbers)
        members = member_records(found.nodes, clusters[found.clusters], self._printed, pairs, similarity)
        self._earlier.add(members, clusters)
        return {**counts, "similar": len(pairs.one), "touched": found.touched}

    def _for_people(self, members: Records, clusters: Records) -> bytes:
        """The table for people: the documents of this round, and what their clusters keep."""
        (others,) = np.nonzero(~np.isin(clusters["kept"], members["node"]))
        kept = np.zeros(len(others), members.dtype)
        for name in ("first", "kept", "cluster", "size"):
            kept[name] = clusters[name][others]
        kept["node"], kept["similarity"] = clusters["kept"][others], 1
        kept.sort(order="node")
        kept["row"] = self._printed.rows(kept["node"])
        everything = np.concatenate([members, kept])
        everything.sort(order="node", kind="stable")
        pairs = document_pairs(self._printed, everything["node"])
        return encode_clusters_parquet(everything, pairs, self._inputs.order, self._inputs.fingerprints)

    def _open_similarity(self) -> Similarity:
        inputs, unit = self._inputs, self._inputs.unit
        if unit.exact:
            return Exact(self._store, self._printed, inputs.fingerprints, inputs.documents, unit)
        values = unit.bands * unit.rows
        rows = SignatureRows(self._store, self._printed, inputs.fingerprints, values)
        return Estimated(rows, unit.bands, values, inputs.dedupe.memory * _MIB // _SHARE)

    def _keeper_values(self) -> Values | None:
        """What decides which document of a cluster is kept; None: the first."""
        inputs = self._inputs
        if inputs.unit.keeper == "longest":
            return self._document_lengths
        if inputs.unit.keeper == "score":
            tables = {rank: inputs.fingerprints[rank] for rank in inputs.new_ranks}
            return ScoreValues(self._store, self._printed, tables, inputs.scores, inputs.unit.score).scores_of_documents
        return None

    def _document_lengths(self, nodes: Nodes) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return self._printed.lengths(nodes).astype(np.float64)


grinder = ClustersGrinder
