"""The step of the kinds that installed packages add: the rows of one snapshot of a source."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from gristmill.execution.checks import Check
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, shard_for_workers, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import documents_asset, place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.rows_recipe import RowsRecipe
from gristmill.stages.packaged.grinder import RowsItem, RowsSpec
from gristmill.stages.packaged.kind import check_rows_proven, code_of_rows, ledger_recipe


@dataclass(frozen=True)
class RowsStep(OneAssetStep):
    """The rows of one snapshot of a source."""

    kind: AssetKind
    declared: RowsRecipe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "packaged"

    @property
    def asset(self) -> str:
        return self.kind.at(recipe=self.declared.name, source=self.source)

    @property
    def reads(self) -> tuple[str, ...]:
        return (documents_asset(self.source, self.declared.versions[self.source]),)

    @property
    def recipe(self) -> Recipe:
        return ledger_recipe(self.kind, self.declared)

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"rows_proven": check_rows_proven}

    def plan(self, store: Store) -> ShardPlan[RowsItem]:
        documents = place(self.reads[0], self.snapshot)
        ledger, shards = read_ledger(store, documents)
        inputs = {shard.name: (Input(documents.asset, shard.name, shard.content),) for shard in shards}
        bodies = {shard.name: RowsItem(shard_for_workers(shard), inputs[shard.name]) for shard in shards}
        code = code_of_rows(self.kind, self.declared)
        target = Target(self.made_place, self.recipe, (ledger.upstream,), wanted_shards(bodies), code)
        spec = partial(RowsSpec, documents=documents, name=self.declared.name, code=code.digest)
        return ShardPlan(target, spec, bodies, lambda body: body.documents.length)
