"""The step that finds the clusters of near duplicates of one round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.execution.checks import Check
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import CLUSTERS, FINGERPRINTS, HASH_RUNS, VERDICTS
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.fingerprints.order import Order, round_key
from gristmill.stages.near_duplicates.grinder import ClustersItem, ClustersSpec
from gristmill.stages.near_duplicates.inputs import WHOLE, ClusterInputs, minhash_of

CLUSTERING = 2
"""Version of the way we make clusters. Raising it makes all of them again."""


@dataclass(frozen=True)
class ClustersStep:
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
        return round_key(self.round)

    @property
    def asset(self) -> str:
        """The address of the clusters."""
        return CLUSTERS.at(dedupe=self.dedupe.name)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        name, unit = self.dedupe.name, minhash_of(self.dedupe)
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
        return recipe_of(self.dedupe)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step."""
        return {}

    def plan(self, store: Store) -> "ClustersPlan":
        """See Step. The hash runs and the verdicts of the round, and the clusters of those before, must be made."""
        inputs = ClusterInputs.read(store, self.dedupe, self.order, self.round)
        target = Target(place(self.asset, self.snapshot), self.recipe, inputs.upstream, (Want(WHOLE, inputs.listed),))
        return ClustersPlan(self, target, inputs.weight)


@dataclass(frozen=True)
class ClustersPlan:
    """The plan of one round.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        weight: bytes that are read.
    """

    step: ClustersStep
    target: Target
    weight: int

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> ClustersSpec:
        """See StepPlan."""
        return ClustersSpec(
            dedupe=self.step.dedupe.name,
            sources=tuple(self.step.dedupe.sources),
            unit=self.step.dedupe.unit.parameters,
            scope=self.step.dedupe.scope,
            memory=self.step.dedupe.memory,
            order=self.step.order,
            round=self.step.round,
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        wants = todo[self.target.place.asset]
        return [Item(want.name, self.weight, raw(ClustersItem(want.inputs or ()))) for want in wants]


def recipe_of(dedupe: Dedupe) -> Recipe:
    """The recipe of the clusters and marks of near duplicates, for their ledgers."""
    of = dedupe.recipe
    return Recipe(of.name, CLUSTERING, {**of.parameters, "version": of.version}, of.draft)
