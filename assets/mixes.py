"""Mixes: one slice for each stream and snapshot, and an index over the finished slices."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg

from assets.support.about import selection_in_words
from assets.support.automation import when_below_changed
from assets.support.facts.tables import warnings_metadata
from assets.support.indexes import index_result, known_snapshots, reading_facts, slices_present
from assets.support.keys import group_of, key_of, plain_name
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step
from gristmill.lake.address import mix_asset, mix_index
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.expected_tokens import NoSlice, expected_tokens
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.mixing.held_out import held_out_words
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import stream_step
from resources.lake import LakeResource


def mix_assets(mix: Mix) -> list[StepAssets]:
    """The assets of a mix's slices."""
    return [_slice(mix, stream) for stream in mix.streams]


def _slice(mix: Mix, stream: Stream) -> StepAssets:
    every = stream_step(mix, stream.key, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"{stream.description or stream.key}\n\n{selection_in_words(stream)}\n\nRate: {stream.rate}.",
        kinds=frozenset({"jsonl", "mix"}),
        owners=mix.owners,
        metadata={"rules": dict(stream.reasons_by_rule), "rate": stream.rate, "weight": stream.weight},
    )
    return StepAssets(name=plain_name(every.asset), source=stream.source, outputs=[output], step=step, pool="mix")


def mix_index_asset(catalogue: Catalogue, mix: Mix) -> dg.AssetsDefinition:
    """The asset of a mix's index."""

    @dg.asset(
        key=key_of(mix_index(mix.name)),
        deps=[key_of(mix_asset(mix.name, stream.key)) for stream in mix.streams],
        group_name=group_of(mix_index(mix.name)),
        description=f"{mix.description or mix.name}: the slices of the mix now, and which are absent",
        owners=list(mix.owners),
        kinds={"json", "mix"},
        tags=asset_tags(mix_index(mix.name)),
        automation_condition=when_below_changed(mix.name),
        check_specs=[slices_present(mix_index(mix.name))],
    )
    def index(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[dg.MaterializeResult[None]]:
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
            check_lake(context.instance, lake.store())
            snapshots = known_snapshots(context, mix)
            made = write_mix_index(lake.store(), mix, sources, snapshots)
            facts = _expected(lake.store(), catalogue, mix)
            if mix.validation:
                facts["held out"] = held_out_words(mix.validation, made.totals)
            result = index_result(context, lake.store(), made, facts)
        yield result

    return index


def _expected(store: Store, catalogue: Catalogue, mix: Mix) -> dict[str, Any]:
    """How training would read the streams, if tokens decide; before the first token cache, by estimates."""
    if not mix.solves_token_shares:
        return {}
    try:
        expected = next(expected_tokens(store, catalogue, mix))
        return {"how tokens are counted": expected.title, **reading_facts(mix, expected.reading)}
    except NoSlice:
        return {}
    except (DataError, RecipeError) as error:  # the index of documents is right; that of a token cache will fail
        return warnings_metadata([str(error)])
