"""The step that makes the fingerprints of one snapshot of a source: one part for each shard of documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from gristmill.execution.checks import Check, alignment_check_with_asset
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, shard_for_workers, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import documents_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import FINGERPRINTING, Dedupe
from gristmill.stages.fingerprints.grinder import FingerprintItem, FingerprintSpec


@dataclass(frozen=True)
class FingerprintStep(OneAssetStep):
    """The fingerprints of one snapshot of a source of a dedupe recipe."""

    dedupe: Dedupe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "fingerprints"

    @property
    def asset(self) -> str:
        return FINGERPRINTS.at(dedupe=self.dedupe.name, source=self.source)

    @property
    def reads(self) -> tuple[str, ...]:
        return (documents_asset(self.source, self.dedupe.versions[self.source]),)

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.dedupe.name, FINGERPRINTING, self.dedupe.fingerprint_parameters, self.dedupe.draft)

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"row_alignment": alignment_check_with_asset(self.reads[0])}

    def plan(self, store: Store) -> ShardPlan[FingerprintItem]:
        documents = place(self.reads[0], self.snapshot)
        ledger, shards = read_ledger(store, documents)
        inputs = {shard.name: (Input(documents.asset, shard.name, shard.content),) for shard in shards}
        bodies = {shard.name: FingerprintItem(shard_for_workers(shard), inputs[shard.name]) for shard in shards}
        target = Target(self.made_place, self.recipe, (ledger.upstream,), wanted_shards(bodies))
        unit, buckets = self.dedupe.unit.fingerprint_parameters, self.dedupe.buckets
        spec = partial(FingerprintSpec, documents=documents, unit=unit, buckets=buckets)
        return ShardPlan(target, spec, bodies, lambda body: body.documents.length)
