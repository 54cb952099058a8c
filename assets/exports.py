"""Exports: one slice for each stream and snapshot of a mix, in parts; an index joins them into a release."""

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg

from assets.support.automation import when_below_changed
from assets.support.facts.tables import warnings_metadata
from assets.support.indexes import index_result, known_snapshots, slices_present
from assets.support.keys import group_of, key_of, plain_name
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.lake.address import cache_asset, export_asset, export_index
from gristmill.lake.identity import digest_of
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export, format_parameters
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release, release_warnings
from gristmill.stages.export.step import ExportStep
from resources.lake import LakeResource


def export_assets(mix: Mix, export: Export) -> list[StepAssets]:
    """The assets of an export's slices."""
    return [_slice(mix, stream, export) for stream in mix.streams]


def _words(mix: Mix, export: Export) -> str:
    return export.description or f"{mix.name} as {export.format.type}"


def _slice(mix: Mix, stream: Stream, export: Export) -> StepAssets:
    every = ExportStep(mix, stream.key, export, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"{_words(mix, export)}: {stream.key}",
        kinds=frozenset({export.format.type, export.name}),
        owners=export.owners,
        metadata={"format": format_parameters(export.format, release=True), "validation": mix.validation},
    )
    return StepAssets(name=plain_name(every.asset), source=stream.source, outputs=[output], step=step, pool="export")


def export_index_asset(catalogue: Catalogue, mix: Mix, export: Export) -> dg.AssetsDefinition:
    """The asset of an export's index, which joins the parts into a release."""
    read = [export_asset(mix.name, export.name, stream.key) for stream in mix.streams]
    if export.format.tokenizer:
        read += [cache_asset(mix.name, export.format.tokenizer, stream.key) for stream in mix.streams]

    @dg.asset(
        key=key_of(export_index(mix.name, export.name)),
        deps=[key_of(address) for address in read],
        group_name=group_of(export_index(mix.name, export.name)),
        description=f"{_words(mix, export)}: the release over the finished slices, and which are absent",
        owners=list(export.owners),
        kinds={export.format.type, export.name},
        tags=asset_tags(export_index(mix.name, export.name)),
        code_version=digest_of(format_parameters(export.format, release=True))[:16],
        automation_condition=when_below_changed(mix.name),
        check_specs=[slices_present(export_index(mix.name, export.name))],
    )
    def index(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[dg.MaterializeResult[None]]:
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
            check_lake(context.instance, lake.store())
            index = index_export(lake.store(), mix, export, sources, known_snapshots(context, mix))
            release = read_release(lake.store(), index.asset)
            shown = f"{lake.store().url}/{release.folder}" if release else ""
            warnings = release_warnings(lake.store(), index.asset)
            for warning in warnings:
                context.log.warning(f"{index.asset}: {warning}")
            more = {"release": dg.MetadataValue.path(shown)} | warnings_metadata(warnings)
            result = index_result(context, lake.store(), index, more)
        yield result

    return index
