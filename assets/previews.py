"""Previews: what a mix would keep and drop, by stream and rule, before it is built. People materialize one by hand."""

import base64
from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.support.facts.tables import metadata_table
from assets.support.indexes import reading_facts
from assets.support.keys import group_of, key_of
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from gristmill.lake.address import attributes_asset, documents_asset, mix_index
from gristmill.lake.asset_kinds import MIX
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.expected_tokens import index_over_finished_slices
from gristmill.previews.expected_reading import expected_reading
from gristmill.previews.mix_preview import (
    StreamPreview,
    open_stream,
    preview_stream,
    previewed_snapshots,
)
from gristmill.previews.page import retention_plots
from gristmill.previews.token_ratio import token_ratio
from gristmill.previews.words import reason_table_rows
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.reports.sizes import percentage
from gristmill.scores.label_kinds import declared_kinds
from gristmill.stages.mixing.step import MixingStep, stream_step
from resources.lake import LakeResource


def preview_address(mix: str) -> str:
    """The address of a preview. Nothing is written there: its materialization has the tables and the curves.

    >>> preview_address("blend")
    'mixes/blend/preview'
    """
    return f"{MIX.top_folder}{mix}/preview"


def preview_asset(catalogue: Catalogue, mix: Mix) -> dg.AssetsDefinition:
    """The preview of a mix."""
    reads = {documents_asset(stream.source, stream.version) for stream in mix.streams}
    reads |= {attributes_asset(s.source, s.version, name) for s in mix.streams for name in s.sets}

    @dg.asset(
        key=key_of(preview_address(mix.name)),
        deps=[key_of(address) for address in sorted(reads)],
        group_name=group_of(preview_address(mix.name)),
        description=f"{mix.description or mix.name}: what its rules would keep and drop; materialize it at any time",
        owners=list(mix.owners),
        kinds={"html"},
        tags=asset_tags(mix_index(mix.name)),
    )
    def preview(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        store = lake.store()
        facts: dict[str, Any] = {}
        previews: list[StreamPreview] = []
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            check_lake(context.instance, store)
            for stream in mix.streams:
                snapshots = previewed_snapshots(store, catalogue.sources[stream.source], stream.version)
                steps = [stream_step(mix, stream.key, snapshot, lake.packages) for snapshot in snapshots]
                previews += [_preview(store, mix, stream, steps)] if steps else []
                facts |= _facts(stream.key, previews[-1] if steps else None)
            if held := index_over_finished_slices(store, catalogue.sources, mix, mix_index(mix.name)).held:
                facts["the index of the mix"] = "; ".join(held)
            if mix.solves_token_shares and previews:
                title, reading = expected_reading(store, mix, previews)
                facts |= {"how tokens are counted": title, **reading_facts(mix, reading)}
        return dg.MaterializeResult(metadata=facts)

    return preview


def _preview(store: Store, mix: Mix, stream: Stream, steps: Sequence[MixingStep]) -> StreamPreview:
    """Without examples: Dagster's metadata holds no texts of documents."""
    kinds = {name: declared_kinds(steps[0].shelves, name, store.url) for name in stream.sets}
    return preview_stream(store, open_stream(store, steps, kinds, token_ratio(store, mix, stream.key)), 0)


def _facts(stream: str, preview: StreamPreview | None) -> dict[str, Any]:
    if preview is None:
        return {f"{stream}: not read": "no snapshot of its documents is finished"}
    where = {rule.name: rule.where for rule in (*preview.selection.include, *preview.selection.exclude)}
    rows = [
        {
            "reason": row.reason,
            "rows": row.documents,
            "share (%)": percentage(row.share),
            "bytes unpacked": row.bytes,
            "estimated tokens": row.tokens,
            "rows of this rule only": row.alone,
            "condition": where.get(row.reason, ""),
        }
        for row in reason_table_rows(preview)
    ]
    found: dict[str, Any] = {
        f"{stream}: rows read": preview.tally.rows.documents,
        f"{stream}: rows kept": preview.tally.kept.documents,
        f"{stream}: rows by reason": metadata_table(rows),
        f"{stream}: tokens estimated": str(preview.ratio),
    }
    plots = [_drawn(name, svg) for name, svg in retention_plots(preview).items()]
    return found | ({f"{stream}: curves": dg.MetadataValue.md("\n\n".join(plots))} if plots else {})


def _drawn(name: str, svg: str) -> str:
    return f"![{name}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
