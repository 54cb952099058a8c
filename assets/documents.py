"""Documents: v0 of each source from its raw snapshots, and every next version from the one before."""

from collections.abc import Sequence

from assets.support.keys import plain
from assets.support.step_ops import Check, Output, StepAssets
from gristmill.execution.checks import Verdict, ids_stable, ids_unique
from gristmill.execution.step import Step
from gristmill.lake.address import attributes_asset, documents_asset, place, raw_asset
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import selection_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step
from resources.lake import LakeResource

UNIQUE = "every id stands once in the snapshot"
STABLE = "every document stands in the version before, under the same id, in the same shard"


def document_assets(source: Source) -> list[StepAssets]:
    """All dataset versions of a source."""
    return [_v0(source), *(_version(source, version) for version in source.versions[1:])]


def _unique(address: str) -> Check:
    def check(store: Store, snapshot: str, shards: Sequence[Shard]) -> Verdict:
        return ids_unique(store, place(address, snapshot), shards)

    return check


def _stable(before: str, address: str) -> Check:
    def check(store: Store, snapshot: str, shards: Sequence[Shard]) -> Verdict:
        above = place(before, snapshot)
        _, rows = read_ledger(store, above)
        return ids_stable(store, above, rows, place(address, snapshot), shards)

    return check


def _v0(source: Source) -> StepAssets:
    address = documents_asset(source.name, "v0")

    def step(lake: LakeResource, snapshot: str, wanted: Sequence[str]) -> Step:  # noqa: ARG001 - makes one asset
        return ConversionStep(source, snapshot, lake.packages, lake.lake().options)

    output = Output(
        address=address,
        description=f"Every document of the raw snapshot. Licence: {source.licence or 'not declared'}.",
        code_version=ConversionStep(source, "any", ()).recipe.digest[:16],
        group=source.name.replace("-", "_"),
        kinds=frozenset({"jsonl", "dolma", "v0"}),
        owners=source.owners,
        metadata={"licence": source.licence or "not declared", "snapshots": source.snapshots},
        checks={"ids_unique": (UNIQUE, _unique(address))},
    )
    return StepAssets(
        name=plain(address),
        source=source.name,
        upstream=[raw_asset(source.name)],
        outputs=[output],
        step=step,
        pool="convert",
    )


def _version(source: Source, version: str) -> StepAssets:
    address = documents_asset(source.name, version)
    number = source.versions.index(version)
    revision = source.revisions[number - 1]
    before = source.versions[number - 1]

    def step(lake: LakeResource, snapshot: str, wanted: Sequence[str]) -> Step:  # noqa: ARG001 - makes one asset
        return revision_step(source, version, snapshot, lake.packages)

    rules = "; ".join(f"{name}: {because}" for name, because in revision.reasons.items())
    output = Output(
        address=address,
        description=f"{revision.description or version}. Rules: {rules or 'none'}.",
        code_version=selection_recipe(f"{source.name}/{version}", revision, draft=source.draft).digest[:16],
        group=source.name.replace("-", "_"),
        kinds=frozenset({"jsonl", "dolma", version}),
        owners=source.owners,
        metadata={"rules": dict(revision.reasons)},
        checks={
            "ids_unique": (UNIQUE, _unique(address)),
            "ids_stable": (STABLE, _stable(documents_asset(source.name, before), address)),
        },
    )
    return StepAssets(
        name=plain(address),
        source=source.name,
        upstream=[
            documents_asset(source.name, before),
            *(attributes_asset(source.name, before, name) for name in revision.sets),
        ],
        outputs=[output],
        step=step,
        pool="mix",
    )
