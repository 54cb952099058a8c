"""What Dagster's pages are told otherwise than by Dagster."""

from collections.abc import Mapping
from typing import Any

from gristmill.errors import DataError
from resources.pages.launches import RefusedParams, launch_all
from resources.pages.launchpad import check_bounds, check_snapshot, with_bounds

CONFIG = "runConfigData"
"""Name of the run configuration in what a page sends."""


def corrected_schema(schema: Any) -> Any:
    """The GraphQL schema of Dagster, changed in three places.

    An asset without snapshots is grey. Dagster's pages count what is missing. Of no partitions none is missing, so they
    would show an empty source green, as "all 0 materialized". Without counts they show the asset as never materialized.

    A launch of many snapshots is several backfills.

    The launchpad refuses a number out of its bounds, and a snapshot that does not exist.

    Args:
        schema: schema as Dagster's web server builds it.
    """
    types = schema.graphql_schema.type_map
    queries, mutations = types["Query"].fields, types["Mutation"].fields
    _count_no_empty_sets(types["AssetNode"].fields["partitionStats"])
    _launch_in_parts(mutations["launchPartitionBackfill"])
    _check_config(queries["isPipelineConfigValid"])
    for name in ("launchRun", "launchPipelineExecution"):
        _check_launch(mutations[name])
    _check_launches(mutations["launchMultipleRuns"])
    return schema


def _count_no_empty_sets(stats: Any) -> None:
    counts = stats.resolve

    async def resolve(node: Any, info: Any, **given: Any) -> Any:
        found = await counts(node, info, **given)
        return found if found is None or found.numPartitions else None

    stats.resolve = resolve


def _launch_in_parts(launches: Any) -> None:
    launch = launches.resolve

    def resolve(node: Any, info: Any, backfillParams: Any) -> Any:  # noqa: N803 - Dagster's name
        def launch_one(params: Any) -> Any:
            return launch(node, info, backfillParams=params)

        try:
            check_bounds(backfillParams.get(CONFIG))
        except DataError as error:
            return launch_one(RefusedParams(error))
        return launch_all(launch_one, backfillParams, info.context.asset_graph, info.context.instance)

    launches.resolve = resolve


def _check_config(check: Any) -> None:
    is_valid = check.resolve

    async def resolve(node: Any, info: Any, **given: Any) -> Any:
        return await is_valid(node, info, **{**given, CONFIG: with_bounds(given.get(CONFIG))})

    check.resolve = resolve


def _check_launch(launches: Any) -> None:
    launch = launches.resolve

    async def resolve(node: Any, info: Any, executionParams: Any) -> Any:  # noqa: N803 - Dagster's name
        return await launch(node, info, executionParams=_checked(executionParams, info))

    launches.resolve = resolve


def _check_launches(launches: Any) -> None:
    launch = launches.resolve

    async def resolve(node: Any, info: Any, executionParamsList: Any) -> Any:  # noqa: N803 - Dagster's name
        return await launch(node, info, executionParamsList=[_checked(each, info) for each in executionParamsList])

    launches.resolve = resolve


def _checked(params: Any, info: Any) -> Mapping[str, Any]:
    """What a launch asks for, so that Dagster refuses what is wrong with it."""
    try:
        check_snapshot(params, info.context.asset_graph, info.context.instance)
    except DataError as error:
        return RefusedParams(error)
    return {**params, CONFIG: with_bounds(params.get(CONFIG))}
