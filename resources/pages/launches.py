"""Launches of many snapshots from Dagster's pages, in parts that the daemon follows with little memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from dagster import AssetKey, PartitionsDefinition

from gristmill.errors import DataError

MOST = 1_000
"""Snapshots of a backfill. After every 25 runs that it requests, Dagster reads and writes all that are left, with the
keys of their assets. If it is of a job, Dagster reads all runs that it has requested."""

PART = "gristmill/part"
"""The tag of a part, such as "1 of 10"."""

LAUNCH = "gristmill/launch"
"""The tag that all parts of a launch have alike: Dagster's pages list them by it."""

Params = Mapping[str, Any]
"""What a launch asks for: `LaunchBackfillParams` of Dagster's GraphQL."""
Sets = dict[PartitionsDefinition[str] | None, list[Mapping[str, Any]]]
"""What a launch asks of each partition set; None: of assets without one."""


class RefusedParams(dict[str, Any]):
    """Params that raise an error when Dagster reads them, so that Dagster's answer has its words."""

    def __init__(self, error: DataError) -> None:
        super().__init__()
        self._error = error

    def get(self, *_: Any) -> Any:
        """Raises the error. Returns nothing."""
        raise self._error


def launch_all(launch: Callable[[Params], Any], params: Params, graph: Any, store: Any, most: int = MOST) -> Any:
    """Launches what is asked for, as several backfills if it has many snapshots.

    Args:
        launch: Dagster's own launch of one backfill.
        params: request to launch.
        graph: Dagster's graph of the assets.
        store: Dagster's instance, which knows the snapshots.
        most: snapshots of one backfill.

    Returns:
        Dagster's answer to the first part; its refusal if it refuses one. What was launched before goes on then.
    """
    try:
        parts = divide_launch(params, graph, store, most)
    except DataError as error:
        return launch(RefusedParams(error))
    first = None
    for part in parts:
        said = launch(part)
        if not hasattr(said, "backfill_id"):
            return said
        first = first or said
    return first


def divide_launch(params: Params, graph: Any, store: Any, most: int = MOST) -> list[Params]:
    """The launches that together ask for the same. What Dagster itself refuses stays one.

    Nothing is made from another snapshot of a source, so each part has the whole chain of its snapshots. If a program
    asks for all snapshots of a job, without their names, this stays one, too. The pages always send names.

    Args:
        params: request to launch.
        graph: Dagster's graph of the assets.
        store: Dagster's instance, which knows the snapshots.
        most: snapshots of one launch.

    Raises:
        DataError: it has more snapshots, and assets without any, or not the same for all assets.
    """
    if params.get("selector"):
        names = params.get("partitionNames") or ()
        return _numbered(params, [{"partitionNames": part} for part in _parts(names, most)]) if names else [params]
    sets = _sets(params, graph)
    chosen = {each: _names(params, each, sets[each], store) for each in sets if each is not None}
    count = sum(len(names) for names in chosen.values())
    if count <= most:
        return [params]
    without = sorted(AssetKey.from_graphql_input(each).to_user_string() for each in sets.get(None, ()))
    if without:
        raise DataError(
            f"a launch of {count:,} snapshots with {', '.join(without)}, made once for all of them: it cannot be"
            " divided, and Dagster would need too much memory. Launch the others without it, which makes several"
            f" backfills of at most {most:,} snapshots. When all have ended, launch {', '.join(without)}"
        )
    if params.get("partitionsByAssets") or (len(sets) > 1 and not params.get("allPartitions")):
        raise DataError(
            f"a launch of {count:,} snapshots, and not the same ones for all assets: Dagster would need too much"
            f" memory. Launch at most {most:,}, or each source alone"
        )
    others = {name: value for name, value in params.items() if name != "allPartitions"}
    return _numbered(
        others,
        [
            {"assetSelection": sets[each], "partitionNames": part}
            for each, names in chosen.items()
            for part in _parts(names, most)
        ],
    )


def _sets(params: Params, graph: Any) -> Sets:
    found: Sets = {}
    by_assets = params.get("partitionsByAssets") or ()
    for asked in params.get("assetSelection") or by_assets:
        key = AssetKey.from_graphql_input(asked["assetKey"] if by_assets else asked)
        if graph.has(key):  # Dagster refuses others
            found.setdefault(graph.get(key).partitions_def, []).append(asked)
    return found


def _names(
    params: Params, of: PartitionsDefinition[str], asked: Iterable[Mapping[str, Any]], store: Any
) -> Sequence[str]:
    """The snapshots of a partition set that are asked for, in Dagster's order. Dagster refuses unknown ones."""
    known = list(of.get_partition_keys(dynamic_partitions_store=store))
    if params.get("partitionNames") is not None:
        wanted = set(params["partitionNames"])
        return [name for name in known if name in wanted] if wanted <= set(known) else ()
    if params.get("allPartitions"):
        return known
    place = {name: number for number, name in enumerate(known)}
    found: set[int] = set()
    for each in asked:
        partitions = each.get("partitions")
        if partitions is None:
            return known
        for span in partitions.get("ranges") or filter(None, [partitions.get("range")]):
            begin, end = place.get(span["start"], 0), place.get(span["end"], -1)
            found.update(range(begin, end + 1))
    return [known[number] for number in sorted(found)]


def _parts(names: Sequence[str], most: int) -> list[Sequence[str]]:
    return [names[begin : begin + most] for begin in range(0, len(names), most)]


def _numbered(params: Params, parts: Sequence[Params]) -> list[Params]:
    """The parts with what else is asked for. If there are several, they have tags, which their runs get, too."""
    if len(parts) == 1:
        return [{**params, **parts[0]}]
    tags = params.get("tags") or ()
    return [
        {**params, **part, "tags": [*tags, *({"key": key, "value": value} for key, value in own.items())]}
        for part, own in zip(parts, part_tags(len(parts)), strict=True)
    ]


def part_tags(count: int) -> list[dict[str, str]]:
    """The tags of each part of a launch.

    Args:
        count: number of parts.
    """
    launch = uuid4().hex[:8]
    return [{PART: f"{number} of {count}", LAUNCH: launch} for number in range(1, count + 1)]
