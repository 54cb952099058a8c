"""The result of a tick that has done something, though it has requested no run; and what it leaves for the next one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import dagster as dg
import msgspec
from dagster import DagsterRun
from dagster._core.definitions.run_request import DagsterRunReaction

from assets.support.keys import address_of, snapshots_of
from gristmill.errors import escape_controls, shorten
from gristmill.reports.sizes import number_and_noun
from resources.pages.news import without_news

M = TypeVar("M", bound=msgspec.Struct)

Found = list[DagsterRunReaction]
"""What a sensor returns for such a tick."""

GOING = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
"""States of a run that may still make something."""

NAMED = 5
"""Most partitions that a tick names; it counts the others."""


def success_result() -> Found:
    """The result of such a tick: "success".

    Dagster 1.13 records a tick without run requests as skipped, unless it is the reaction to a run. This is the
    reaction to the run without an id, to which Dagster counts all events that no run has made.
    """
    return [DagsterRunReaction(DagsterRun(job_name="", run_id=""), None, None)]


def read_memory(kind: type[M], cursor: str | None, name: str, warn: Callable[[str], object] = str) -> M:
    """The memory in a cursor. It is new if there is no cursor, or, with a warning, if nobody can read the cursor.

    Args:
        kind: the class of the memory. Each of its fields has a default.
        cursor: cursor of the tick before.
        name: name of the sensor.
        warn: function that takes the warning.
    """
    try:
        return msgspec.json.decode(without_news(cursor) or "{}", type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        warn(f"{name}: the sensor's cursor cannot be read, and is dropped ({shorten(str(error), 200)})")
        return kind()


def tick_warner(context: dg.SensorEvaluationContext) -> Callable[[str], None]:
    """A function that writes a warning into the log of a tick.

    It looks at `context.log` only when it is called: the first look makes a file, which Dagster keeps.

    Args:
        context: context of the tick.
    """
    return lambda words: context.log.warning(escape_controls(words))  # they may have names of the data


def once_more(failed: Mapping[str, int], wrong: Iterable[str]) -> dict[str, int]:
    """The number of ticks in a row in which each thing was wrong. The watchman reads it in the cursor, and posts an
    alert.

    Args:
        failed: the same after the tick before. What is no longer wrong is left out.
        wrong: names of what was wrong at this tick, in words of ours alone.

    >>> once_more({"a": 2, "b": 1}, ["a", "c"])
    {'a': 3, 'c': 1}
    """
    return {part: failed.get(part, 0) + 1 for part in wrong}


def has_partition(instance: dg.DagsterInstance, source: str | None, snapshot: str | None) -> bool:
    """Whether a partition exists: Dagster refuses all requests of a tick if one of them names another.

    Args:
        instance: Dagster's.
        source: name of the source; None for an asset without partitions.
        snapshot: key of the partition; None if a run has none.
    """
    if source is None or snapshot is None:
        return source is None and snapshot is None
    return instance.has_dynamic_partition(snapshots_of(source).name or "", snapshot)


def requests_in_words(requests: Sequence[dg.RunRequest]) -> str:
    """The requests of a tick in words: how many runs, and what the first of them make.

    Args:
        requests: requests of the tick.

    >>> index = dg.AssetKey(["mixes", "starter", "index"])
    >>> requests_in_words([dg.RunRequest(partition_key="2024", asset_selection=[index])])
    'requested 1 run: mixes/starter/index (2024)'
    """
    named = [_named(each) for each in requests[:NAMED]]
    more = f" and {len(requests) - NAMED} more" if len(requests) > NAMED else ""
    return f"requested {number_and_noun(len(requests), 'run')}: {', '.join(named)}{more}"


def _named(request: dg.RunRequest) -> str:
    first, *others = map(address_of, request.asset_selection or ())
    more = f" and {number_and_noun(len(others), 'other')}" if others else ""
    return f"{first}{more}{f' ({request.partition_key})' if request.partition_key else ''}"
