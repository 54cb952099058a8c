"""What the launchpad refuses in its place: Dagster's own check of a run configuration knows names and types alone."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import yaml  # type: ignore[import-untyped]
from dagster import AssetKey, DagsterInstance

from gristmill.environment import MOST_WORKERS
from gristmill.errors import DataError

_PARTITION = "dagster/partition"

BOUNDS: Mapping[tuple[str, ...], tuple[int, int]] = {
    ("resources", "engine", "config", "workers"): (1, MOST_WORKERS),
    ("ops", "remove_old", "config", "run_days"): (1, 36_500),
    ("ops", "remove_old", "config", "tick_days"): (1, 36_500),
    ("ops", "token_caches__*__index__packing", "config", "length"): (2, 1 << 24),
}
"""The least and the most of each number in a run configuration that has bounds, by its place. A * stands for names."""


def with_bounds(config: Any) -> Any:
    """A run configuration in which a number out of its bounds is words, which Dagster refuses in its place.

    Args:
        config: configuration as a page sends it: an object, or YAML.
    """
    given, wrong = _out_of_bounds(config)
    for path, words in wrong.items():
        given = _put(given, path, words)
    return given if wrong else config


def check_bounds(config: Any) -> None:
    """Checks the numbers in the run configuration of a backfill: Dagster does not look at it before its runs.

    Args:
        config: configuration as a page sends it: an object, or YAML.

    Raises:
        DataError: one is out of its bounds.
    """
    for path, words in _out_of_bounds(config)[1].items():
        raise DataError(f"the run configuration: {'.'.join(path)} is {words}")


def _out_of_bounds(config: Any) -> tuple[Any, dict[tuple[str, ...], str]]:
    """The configuration as an object, and by their places the numbers in it that are out of their bounds, in words."""
    try:
        given = yaml.safe_load(config) if isinstance(config, str) else config
    except yaml.YAMLError:
        return config, {}  # Dagster refuses it
    wrong = {}
    for pattern, (least, most) in BOUNDS.items():
        found: list[tuple[tuple[str, ...], Any]] = [((), given)]
        for part in pattern:
            found = [
                ((*path, name), below)
                for path, value in found
                if isinstance(value, Mapping)
                for name, below in value.items()
                if isinstance(name, str) and fnmatchcase(name, part)
            ]
        for path, value in found:
            if type(value) is int and not least <= value <= most:
                wrong[path] = f"{value}; give {least} to {most:,}"
    return given, wrong


def _put(config: Any, path: Sequence[str], words: str) -> Any:
    """The configuration with words at a place."""
    name, *below = path
    return {**config, name: _put(config[name], below, words) if below else words}


def check_snapshot(params: Mapping[str, Any], graph: Any, instance: DagsterInstance) -> None:
    """Checks that the partition of a launch exists. Dagster would make a run of any name, which fails later.

    Args:
        params: request to launch: `ExecutionParams` of Dagster's GraphQL.
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
