"""The step that finds the clusters of near duplicates of one round."""

from dataclasses import dataclass
from functools import partial

from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import attributes_asset, documents_asset
from gristmill.lake.asset_kinds import CLUSTERS, FINGERPRINTS, HASH_RUNS, VERDICTS
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.near_duplicates.grinder import ClustersItem, ClustersSpec
from gristmill.stages.near_duplicates.inputs import WHOLE, ClusterInputs, minhash_unit

CLUSTERING = 2
"""Version of the way we make clusters. Raising it makes all of them again."""


@dataclass(frozen=True)
class ClustersStep(OneAssetStep):
    """The clusters of one round.

    Attributes:
        dedupe: the recipe; its unit is MinHashUnits.
        order: the order of snapshots.
        round: number of the round.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    order: Order
    round: int
    shelves: tuple[str, ...]
    stage: str = "near_duplicates"

    @property
    def snapshot(self) -> str:
        """See Step."""
        return round_partition_key(self.round)

    @property
    def asset(self) -> str:
        """The address of the clusters."""
        return CLUSTERS.at(dedupe=self.dedupe.name)

    @property
    def reads(self) -> tuple[str, ...]:
        name, unit = self.dedupe.name, minhash_unit(self.dedupe)
        versions = self.dedupe.versions
        label_set = unit.score.partition("__")[0]
        return (
            *(FINGERPRINTS.at(dedupe=name, source=source) for source in versions),
            *(HASH_RUNS.at(dedupe=name, source=source) for source in versions),
            VERDICTS.at(dedupe=name),
            *(documents_asset(source, version) for source, version in versions.items() if unit.exact),
            *(attributes_asset(source, version, label_set) for source, version in versions.items() if label_set),
        )

    @property
    def recipe(self) -> Recipe:
        """The recipe of the clusters, for their ledger."""
        return near_duplicate_recipe(self.dedupe)

    def plan(self, store: Store) -> ShardPlan[ClustersItem]:
        """See Step. The hash runs and the verdicts of the round, and the clusters of those before, must be made."""
        inputs = ClusterInputs.read(store, self.dedupe, self.order, self.round)
        bodies = {WHOLE: ClustersItem(inputs.as_inputs)}
        spec = partial(
            ClustersSpec,
            dedupe=self.dedupe.name,
            sources=tuple(self.dedupe.sources),
            unit=self.dedupe.unit.parameters,
            scope=self.dedupe.scope,
            memory=self.dedupe.memory,
            order=self.order,
            round=self.round,
        )
        target = Target(self.made_place, self.recipe, inputs.upstream_partitions, wanted_shards(bodies))
        return ShardPlan(target, spec, bodies, lambda _: inputs.weight)


def near_duplicate_recipe(dedupe: Dedupe) -> Recipe:
    """The recipe of the clusters and marks of near duplicates, for their ledgers."""
    of = dedupe.recipe
    return Recipe(of.name, CLUSTERING, {**of.parameters, "version": of.version}, of.draft)
