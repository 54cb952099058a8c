"""Mixes: a slice a stream and snapshot, and an index that closes them."""

from collections.abc import Sequence

import dagster as dg

from assets.support.automation import when_below_changed
from assets.support.indexes import index_result, known_snapshots
from assets.support.keys import key_of, plain
from assets.support.lake_identity import check_lake
from assets.support.report import failures
from assets.support.step_ops import Check, Output, StepAssets
from gristmill.execution.checks import Verdict, blocklist_respected
from gristmill.execution.step import Step
from gristmill.lake.address import attributes_asset, documents_asset, mix_asset, mix_index, place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklist import read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream, selection_recipe
from gristmill.stages.mixing.index import index_mix
from gristmill.stages.mixing.step import stream_step
from resources.lake import LakeResource

RESPECTED = "nothing that a blocklist of the stream names stands in the slice"


def mix_assets(mix: Mix) -> list[StepAssets]:
    """The slices of a mix."""
    return [_slice(mix, stream) for stream in mix.streams]


def _slice(mix: Mix, stream: Stream) -> StepAssets:
    address = mix_asset(mix.name, stream.key)

    def step(lake: LakeResource, snapshot: str, wanted: Sequence[str]) -> Step:  # noqa: ARG001 - makes one asset
        return stream_step(mix, stream.key, snapshot, lake.packages)

    rules = "; ".join(f"{name}: {because}" for name, because in stream.reasons.items())
    output = Output(
        address=address,
        description=f"{stream.description or stream.key}. Rules: {rules or 'none'}. Rate: {stream.rate}.",
        code_version=selection_recipe(f"{mix.name}/{stream.key}", stream, draft=mix.draft).digest[:16],
        group=f"mix_{plain(mix.name)}",
        kinds=frozenset({"jsonl", "dolma"}),
        owners=mix.owners,
        metadata={"rules": dict(stream.reasons), "rate": stream.rate, "weight": stream.weight},
        checks={"blocklist_respected": (RESPECTED, _respected(address, stream))},
    )
    return StepAssets(
        name=plain(address),
        source=stream.source,
        upstream=[
            documents_asset(stream.source, stream.version),
            *(attributes_asset(stream.source, stream.version, name) for name in stream.sets),
        ],
        outputs=[output],
        step=step,
        pool="mix",
    )


def _respected(address: str, stream: Stream) -> Check:
    def check(store: Store, snapshot: str, shards: Sequence[Shard]) -> Verdict:
        blocklists = [read_blocklist(store, name) for name in stream.blocklists]
        return blocklist_respected(store, place(address, snapshot), shards, blocklists)

    return check


def mix_index_asset(catalogue: Catalogue, mix: Mix) -> dg.AssetsDefinition:
    """What closes a mix."""

    @dg.asset(
        key=key_of(mix_index(mix.name)),
        deps=[key_of(mix_asset(mix.name, stream.key)) for stream in mix.streams],
        group_name=f"mix_{plain(mix.name)}",
        description=f"{mix.description or mix.name}: what the mix consists of now, and which slices are absent",
        owners=list(mix.owners),
        kinds={"json"},
        automation_condition=when_below_changed(),
    )
    def index(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        with failures(lake):
            sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
            check_lake(context.instance, lake.store())
            known = known_snapshots(context, mix)
            return index_result(lake.store(), index_mix(lake.store(), mix, sources, known))

    return index
