"""Raw snapshots: others write them into the lake; the raw-arrival sensor and the job `sync` report them."""

from datetime import timedelta

import dagster as dg

from assets.support.about import description_of, facts_about
from assets.support.arrivals import ARRIVALS
from assets.support.keys import group_of, key_of, snapshots_of
from assets.support.runs.tags import asset_tags
from gristmill.lake.address import documents_asset, raw_asset
from gristmill.raw_data.roots import raw_address
from gristmill.recipes.source import Source


def raw_spec(source: Source) -> dg.AssetSpec:
    """The external asset of a source's raw snapshots: Dagster shows it, and does not make it."""
    reporter = f"The sensor `{ARRIVALS}`" if source.watched else "The job `sync`"
    what = f"{source.description or source.name}, as acquired. {reporter} reports its snapshots."
    return dg.AssetSpec(
        key=key_of(raw_asset(source.name)),
        description=description_of(source, what),
        group_name=group_of(documents_asset(source.name, source.versions[0])),
        partitions_def=snapshots_of(source.name),
        kinds={"raw"},
        tags=asset_tags(raw_asset(source.name)),
        owners=list(source.owners),
        freshness_policy=_policy(source),
        metadata=facts_about(source)
        | {
            "watched": source.watched,
            "folder": dg.MetadataValue.path(raw_address(source) or f"{raw_asset(source.name)}/"),
        },
    )


def _policy(source: Source) -> dg.FreshnessPolicy | None:
    """When the newest snapshot counts as late: each new or changed snapshot is an event of this asset."""
    hours = source.expected_hours
    return None if hours is None else dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=hours))
