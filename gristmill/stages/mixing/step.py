"""The step of mixing: it makes one snapshot of a mix's stream, or of the next version of a source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gristmill.errors import DataError
from gristmill.execution.checks import Check, Verdict, check_blocklist, check_stable_ids, check_unique_ids
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import Place, attributes_asset, blocklist_asset, documents_asset, mix_asset, place
from gristmill.lake.asset_kinds import blocking_checks_of_asset
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.rows.blocklists.blocklist import Blocklist, read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.transform import code_of_transforms
from gristmill.recipes.mix import Mix, recipe_of_selection
from gristmill.recipes.selection import Selection
from gristmill.recipes.source import Source
from gristmill.stages.mixing.blocklist_inputs import blocked_inputs, hashes_by_name
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.grinder import MixingItem, MixingSpec


@dataclass(frozen=True)
class MixingStep(OneAssetStep):
    """A selection applied to one snapshot of a dataset version.

    Attributes:
        source: name of the source.
        version: the version that is read.
        snapshot: key of the snapshot.
        selection: the rules that keep or drop rows.
        asset: address of the asset that is made.
        recipe: its recipe.
        shelves: the packages that hold the recipe.
    """

    source: str
    version: str
    snapshot: str
    selection: Selection
    asset: str
    recipe: Recipe
    shelves: tuple[str, ...]
    stage: str = "mixing"

    @property
    def documents(self) -> Place:
        """The partition that is read."""
        return place(documents_asset(self.source, self.version), self.snapshot)

    @property
    def reads(self) -> tuple[str, ...]:
        sets = (attributes_asset(self.source, self.version, name) for name in self.selection.sets)
        return (documents_asset(self.source, self.version), *sets)

    def checks(self, asset: str) -> Mapping[str, Check]:
        every: dict[str, Check] = {
            "ids_unique": check_unique_ids,
            "ids_stable": self._ids_stable,
            "blocklist_respected": self._blocklist_respected,
        }
        return {name: every[name] for name in blocking_checks_of_asset(asset)}

    def _ids_stable(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        before = place(documents_asset(self.source, self.version), partition.snapshot)
        return check_stable_ids(store, before, read_ledger(store, before)[1], partition, shards)

    def _blocklist_respected(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        blocklists = [read_blocklist(store, name) for name in self.selection.blocklists]
        return check_blocklist(store, partition, shards, blocklists)

    def attribute_set_place(self, name: str) -> Place:
        """The partition of an attribute set that the selection reads."""
        return place(attributes_asset(self.source, self.version, name), self.snapshot)

    def plan(self, store: Store) -> ShardPlan[MixingItem]:
        """See Step.

        Raises:
            DataError: a set does not have the shards, rows or ids of the documents.
        """
        ledger, shards = read_ledger(store, self.documents)
        upstream = [ledger.upstream]
        sets: dict[str, dict[str, Shard]] = {}
        for name in self.selection.sets:
            head, rows = read_ledger(store, self.attribute_set_place(name))
            sets[name] = {row.name: row for row in rows}
            upstream.append(head.upstream)
            check_aligned(shards, sets[name], self.attribute_set_place(name))
        blocklists: dict[str, Blocklist] = {}
        for name in self.selection.blocklists:
            blocklists[name] = read_blocklist(store, name)
            upstream.append(
                Upstream(blocklist_asset(name), "", "")
            )  # each shard's inputs name the entries that it holds
        bodies: dict[str, MixingItem] = {}
        blocked = hashes_by_name(blocklists.values())
        documents, assets = self.documents, {name: self.attribute_set_place(name).asset for name in sets}
        for shard in shards:
            inputs = [Input(documents.asset, shard.name, shard.content)]
            inputs += [Input(assets[n], shard.name, rows[shard.name].content) for n, rows in sets.items()]
            inputs += blocked_inputs(store, documents, shard, blocked)
            beside = {name: rows[shard.name] for name, rows in sets.items()}
            bodies[shard.name] = MixingItem(shard, beside, tuple(inputs))
        transforms = transforms_of_selection(self.selection.transforms, self.shelves)
        recipe = self.recipe
        if any(each.draft for each in transforms):  # its code may change, so what it made is made again
            recipe = msgspec.structs.replace(recipe, draft=True)
        target = Target(self.made_place, recipe, tuple(upstream), wanted_shards(bodies), code_of_transforms(transforms))
        spec = partial(
            MixingSpec,
            documents=documents,
            selection=recipe.parameters,
            blocklists={name: blocklist.digest for name, blocklist in blocklists.items()},
            optional=tuple(column.name for column in self.selection.read_columns if column.optional),
            code=target.code.digest,
        )
        return ShardPlan(target, spec, bodies, lambda body: body.documents.length)


def check_aligned(documents: Sequence[Shard], rows: Mapping[str, Shard], attributes: Place) -> None:
    """Checks by the ledgers that a set matches its documents. The rows themselves are compared while they are read.

    Args:
        documents: the rows of the documents' table.
        rows: shards of the set, by name.
        attributes: the partition of the set.

    Raises:
        DataError: a shard is missing, or has other rows.
    """
    for shard in documents:
        row = rows.get(shard.name)
        if row is None:
            raise DataError(f"{attributes.asset} ({attributes.snapshot}): no shard {shard.name}; make the set again")
        if (row.rows, row.ids) != (shard.rows, shard.ids):
            raise DataError(
                f"{attributes.asset} ({attributes.snapshot}): shard {shard.name} has {row.rows} rows of ids"
                f" {row.ids[:8]}, its documents {shard.rows} of ids {shard.ids[:8]}; make the set again"
            )


def revision_step(source: Source, version: str, snapshot: str, shelves: tuple[str, ...]) -> MixingStep:
    """The step that makes a version of a source from the one before."""
    number = source.versions.index(version)
    revision = next(each for each in source.revisions if each.version == version)
    return MixingStep(
        source=source.name,
        version=source.versions[number - 1],
        snapshot=snapshot,
        selection=revision,
        asset=documents_asset(source.name, version),
        recipe=recipe_of_selection(f"{source.name}/{version}", revision, draft=source.draft),
        shelves=shelves,
    )


def stream_step(mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]) -> MixingStep:
    """The step that makes one snapshot of a mix's stream."""
    chosen = mix.stream(stream)
    return MixingStep(
        source=chosen.source,
        version=chosen.version,
        snapshot=snapshot,
        selection=chosen,
        asset=mix_asset(mix.name, stream),
        recipe=recipe_of_selection(f"{mix.name}/{stream}", chosen, draft=mix.draft),
        shelves=shelves,
    )
