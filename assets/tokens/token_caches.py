"""Token caches: one slice for each stream and snapshot, in Levanter parts; an index merges them for a trainer."""

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
from pydantic import Field

from assets.support.automation import when_below_changed
from assets.support.indexes import index_result, known_snapshots, slices_present, streams_facts
from assets.support.keys import group_of, key_of, plain_name
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.lake.address import cache_asset, cache_index
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.files import training_job
from resources.lake import LakeResource
from resources.plain_config import plain_schema, read_config


def token_cache_assets(mix: Mix, tokenizer: Tokenizer) -> list[StepAssets]:
    """The assets of a mix's token cache slices by one tokenizer."""
    return [_slice(mix, stream, tokenizer) for stream in mix.streams]


def _slice(mix: Mix, stream: Stream, tokenizer: Tokenizer) -> StepAssets:
    every = TokenCacheStep(mix, stream.key, tokenizer, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"Levanter {stream.format.type} cache of {mix.name}/{stream.key} by {tokenizer.name},"
        f" in at most {mix.parts} parts. {_waits(tokenizer)}",
        kinds=frozenset({"levanter", tokenizer.name}),
        owners=mix.owners,
        metadata={"validation": mix.validation, "eos_style": tokenizer.eos_style},
    )
    return StepAssets(name=plain_name(every.asset), source=stream.source, outputs=[output], step=step, pool="tokenize")


def _waits(tokenizer: Tokenizer) -> str:
    return f"The job `{training_job(tokenizer.name)}` makes its tokenizer, by hand only; until then it waits."


class CacheIndexConfig(dg.Config):
    """Run configuration of a token cache's index."""

    consolidated: bool = Field(
        default=False,
        description="also copy each stream and split into one cache, for versions of Levanter before Marin's",
    )


def cache_index_asset(catalogue: Catalogue, mix: Mix, tokenizer: Tokenizer) -> dg.AssetsDefinition:
    """The asset of a token cache's index, which merges the slices."""

    @dg.asset(
        key=key_of(cache_index(mix.name, tokenizer.name)),
        deps=[key_of(cache_asset(mix.name, tokenizer.name, stream.key)) for stream in mix.streams],
        group_name=group_of(cache_index(mix.name, tokenizer.name)),
        description=f"{mix.name} by {tokenizer.name}: merged Levanter ledgers and data.yaml over the finished"
        f" slices. {_waits(tokenizer)}",
        owners=list(mix.owners),
        kinds={"levanter", tokenizer.name},
        tags=asset_tags(cache_index(mix.name, tokenizer.name)),
        automation_condition=when_below_changed(mix.name),
        check_specs=[slices_present(cache_index(mix.name, tokenizer.name))],
        config_schema=plain_schema(CacheIndexConfig),
    )
    def index(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[dg.MaterializeResult[None]]:
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            config = read_config(CacheIndexConfig, context.op_execution_context.op_config)
            sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
            check_lake(context.instance, lake.store())
            snapshots = known_snapshots(context, mix)
            index = index_cache(lake.store(), mix, tokenizer, sources, snapshots, consolidated=config.consolidated)
            result = index_result(context, lake.store(), index, streams_facts(lake.store(), mix, index, sources))
        yield result

    return index
