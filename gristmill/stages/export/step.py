"""The step that writes one snapshot of a mix's stream in the format of an export: one part for each shard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gristmill.execution.checks import Check, Verdict
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, shard_for_workers, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import Place, export_asset, mix_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard
from gristmill.lake.rows.draw import VALIDATION_SEED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export, format_parameters
from gristmill.recipes.export_formats.formats import code_of_format, codec_of_format
from gristmill.recipes.mix import Mix
from gristmill.stages.export.grinder import ExportItem, ExportSpec
from gristmill.stages.export.part import part_folder
from gristmill.stages.export.part_table import check_export_complete
from gristmill.stages.mixing.held_out import check_held_out


@dataclass(frozen=True)
class ExportStep(OneAssetStep):
    """One snapshot of a stream's export."""

    mix: Mix
    stream: str
    export: Export
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "export"

    @property
    def documents(self) -> Place:
        """The slice of the mix that is exported."""
        return place(mix_asset(self.mix.name, self.stream), self.snapshot)

    @property
    def asset(self) -> str:
        """The address of the export."""
        return export_asset(self.mix.name, self.export.name, self.stream)

    @property
    def reads(self) -> tuple[str, ...]:
        return (mix_asset(self.mix.name, self.stream),)

    @property
    def recipe(self) -> Recipe:
        """The recipe, for the ledger. The options that change only the release are not in it."""
        held = {"validation": self.mix.validation, "validation_seed": VALIDATION_SEED}
        key = {"validation_key": self.mix.held_out.parameters()["key"]} if self.mix.held_out else {}
        return Recipe(
            f"{self.mix.name}/{self.export.name}/{self.stream}",
            codec_of_format(self.export.format).version,
            {"format": format_parameters(self.export.format), **held, **key},
            self.mix.draft or self.export.draft,
        )

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"export_complete": self._export_complete}

    def _export_complete(self, store: Store, partition: Place, parts: Sequence[Shard]) -> Verdict:
        documents = place(mix_asset(self.mix.name, self.stream), partition.snapshot)
        return check_export_complete(store, read_ledger(store, documents)[1], parts, partition)

    def plan(self, store: Store) -> ShardPlan[ExportItem]:
        """See Step."""
        ledger, shards = read_ledger(store, self.documents)
        check_held_out(self.mix.held_out, ledger)
        recipe = self.recipe
        bodies: dict[str, ExportItem] = {}
        for shard in shards:
            inputs = (Input(self.documents.asset, shard.name, shard.identity),)
            bodies[shard.name] = ExportItem(part_folder(recipe.digest, inputs), shard_for_workers(shard), inputs)
        code = code_of_format(self.export.format, self.export)
        target = Target(self.made_place, recipe, (ledger.upstream,), wanted_shards(bodies), code)
        spec = partial(
            ExportSpec,
            documents=self.documents,
            format=recipe.parameters["format"],
            validation=self.mix.validation,
            code=code.digest,
        )
        return ShardPlan(target, spec, bodies, lambda body: body.shard.length)
