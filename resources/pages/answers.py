"""What Dagster's pages are told otherwise than by Dagster."""

from typing import Any

from resources.pages.launches import launch_all


def honest(schema: Any) -> Any:
    """Dagster's GraphQL, changed in two places.

    An asset without snapshots is grey. Dagster's pages count what is missing. Of no partitions none is missing, so they
    would show an empty source green, as "all 0 materialized". Without counts they show the asset as never materialized.

    A launch of many snapshots is several backfills.

    Args:
        schema: as Dagster's web server builds it.
    """
    types = schema.graphql_schema.type_map
    stats, launches = types["AssetNode"].fields["partitionStats"], types["Mutation"].fields["launchPartitionBackfill"]
    counts, launch = stats.resolve, launches.resolve

    async def resolve_stats(node: Any, info: Any, **given: Any) -> Any:
        found = await counts(node, info, **given)
        return found if found is None or found.numPartitions else None

    def resolve_launch(node: Any, info: Any, **given: Any) -> Any:
        return launch_all(
            lambda params: launch(node, info, backfillParams=params),
            given["backfillParams"],
            info.context.asset_graph,
            info.context.instance,
        )

    stats.resolve, launches.resolve = resolve_stats, resolve_launch
    return schema
