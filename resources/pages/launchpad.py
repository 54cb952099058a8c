"""What the launchpad refuses in its place: Dagster's own check of a run configuration knows names and types alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]
from dagster import AssetKey, DagsterInstance

from gristmill.environment import MOST_WORKERS
from gristmill.errors import DataError

_PARTITION = "dagster/partition"


def with_bounds(config: Any) -> Any:
    """A run configuration in which a number of workers out of its bounds is words, which Dagster refuses in its place.

    Args:
        config: as a page sends it: an object, or YAML.
    """
    try:
        given = yaml.safe_load(config) if isinstance(config, str) else config
        resources = given["resources"]
        engine = resources["engine"]
        workers = engine["config"]["workers"]
    except (yaml.YAMLError, LookupError, TypeError):
        return config  # it has none, or Dagster refuses it
    if type(workers) is not int or 1 <= workers <= MOST_WORKERS:
        return config
    bounded = {**engine["config"], "workers": f"{workers}; give 1 to {MOST_WORKERS}"}
    return {**given, "resources": {**resources, "engine": {**engine, "config": bounded}}}


def check_bounds(config: Any) -> None:
    """Checks the number of workers in the run configuration of a backfill: Dagster does not look at it before its runs.

    Args:
        config: as a page sends it: an object, or YAML.

    Raises:
        DataError: it is out of its bounds.
    """
    if (bounded := with_bounds(config)) is not config:
        workers = bounded["resources"]["engine"]["config"]["workers"]
        raise DataError(f"the run configuration: resources.engine.config.workers is {workers}")


def check_snapshot(params: Mapping[str, Any], graph: Any, instance: DagsterInstance) -> None:
    """Checks that the partition of a launch exists. Dagster would make a run of any name, which fails later.

    Args:
        params: what is asked for: `ExecutionParams` of Dagster's GraphQL.
        graph: Dagster's graph of the assets.
        instance: Dagster's, which knows the snapshots.

    Raises:
        DataError: there is no such snapshot.
    """
    tags = (params.get("executionMetadata") or {}).get("tags") or ()
    names = [tag["value"] for tag in tags if tag["key"] == _PARTITION]
    if not names:
        return
    for of in {node.partitions_def for node in _nodes(params["selector"], graph)} - {None}:
        known = of.get_partition_keys(dynamic_partitions_store=instance)
        if names[-1] not in known:
            newest = f"; the newest is {known[-1]}" if known else ", and it has none"
            raise DataError(f"there is no snapshot {names[-1]} of {of.name.removeprefix('snapshots/')}{newest}")


def _nodes(selector: Mapping[str, Any], graph: Any) -> Iterable[Any]:
    """The assets of a launch. Dagster refuses unknown ones."""
    if chosen := selector.get("assetSelection"):
        keys = map(AssetKey.from_graphql_input, chosen)
        return [graph.get(key) for key in keys if graph.has(key)]
    job = selector.get("jobName") or selector.get("pipelineName")
    return [node for node in graph.asset_nodes if job in node.job_names]
