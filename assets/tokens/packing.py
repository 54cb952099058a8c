"""Packing: plans how documents of a token cache form examples of one length. People materialize it by hand.

It has no automation: the length belongs to a training run, and a plan can be computed from the index at any time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from assets.support.keys import group_of, key_of
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors, histogram_image
from assets.support.runs.tags import asset_tags, tag_run
from gristmill.lake.address import cache_index, cache_packing
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.reports.histogram import Histogram
from gristmill.reports.sizes import percentage
from gristmill.stages.packing.plans import PackingPlan, plan_cache
from gristmill.stages.packing.report import Report
from resources.lake import LakeResource
from resources.plain_config import plain_schema, read_config

DRAWN = 8
"""Number of splits with plots, those with the most tokens; the table shows all splits."""

SUMS = {
    "rows": "documents",
    "tokens": "tokens",
    "sequences": "examples",
    "padding": "padding",
    "rows cut": "truncated_documents",
    "tokens cut": "truncated_tokens",
    "rows dropped": "dropped_documents",
    "tokens dropped": "dropped_tokens",
    "rows in several sequences": "split_documents",
    "rows of another length": "unfit_documents",
}
"""What is counted of each split and of all, by its name on Dagster's pages: the fields of the report."""

LENGTH = 4096
"""Tokens of an example, if nobody says a length."""


class PackingRequest(dg.Config):
    """Run configuration of packing."""

    length: int | None = Field(
        default=None,
        ge=2,
        le=1 << 24,
        description=f"Tokens per example. By default the mix's sequence_length or, if it has none, {LENGTH}.",
    )


def packing_asset(mix: Mix, tokenizer: Tokenizer) -> dg.AssetsDefinition:
    """The packing plans of a token cache."""

    @dg.asset(
        key=key_of(cache_packing(mix.name, tokenizer.name)),
        deps=[key_of(cache_index(mix.name, tokenizer.name))],
        group_name=group_of(cache_packing(mix.name, tokenizer.name)),
        description=f"{mix.name} by {tokenizer.name} as examples of one length: fill rate, cut and dropped documents",
        owners=list(mix.owners),
        kinds={"numpy", tokenizer.name},
        tags=asset_tags(cache_packing(mix.name, tokenizer.name)),
        config_schema=plain_schema(PackingRequest),
    )
    def packing(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        store = lake.store()
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            config = read_config(PackingRequest, context.op_execution_context.op_config)
            check_lake(context.instance, store)
            length = config.length or mix.sequence_length or LENGTH
            planned = plan_cache(store, mix, tokenizer, length, context.log.info)
        version = digest_of([as_json(split).decode() for split in planned])
        folder = cache_packing(mix.name, tokenizer.name)
        return dg.MaterializeResult(data_version=dg.DataVersion(version), metadata=_facts(store, folder, planned))

    return packing


def _facts(store: Store, folder: str, planned: Sequence[PackingPlan]) -> dict[str, Any]:
    """Metadata about the plans."""
    reports = [split.report for split in planned]
    filled, padding = sum(report.filled for report in reports), sum(report.padding for report in reports)
    sums = {name: sum(getattr(report, field) for report in reports) for name, field in SUMS.items()}
    largest = sorted(planned, key=lambda split: -split.report.tokens)[:DRAWN]
    return {
        "sequence length": reports[0].length,
        "filled (%)": percentage(filled, filled + padding) if filled else 100.0,
        **sums,
        "splits": dg.MetadataValue.table([_row(split) for split in planned]),
        "document lengths": _plots(largest, lambda report: report.lengths, "documents by tokens"),
        "fill of sequences": _plots(largest, lambda report: report.fill, "sequences by tokens in them"),
        "plans": dg.MetadataValue.path(f"{store.url}/{folder}/"),
    }


def _row(split: PackingPlan) -> dg.TableRecord:
    report = split.report
    return dg.TableRecord(
        {
            "stream": _stream(split),
            "split": split.split,
            "sequences are": report.kind,
            "filled (%)": percentage(split.fill_rate),
            **{name: getattr(report, field) for name, field in SUMS.items()},
        }
    )


def _plots(planned: Sequence[PackingPlan], of: Callable[[Report], Histogram], unit: str) -> dg.MarkdownMetadataValue:
    """Plots of several splits, as images that contain their data."""
    images = [histogram_image(of(split.report), f"{_stream(split)}, {split.split}", unit) for split in planned]
    return dg.MetadataValue.md("\n\n".join(images))


def _stream(split: PackingPlan) -> str:
    return split.cache.rpartition("/")[2]
