"""The sensor `unstarted_runs`: it requests again what runs should have made that Dagster gave up.

They never started, or their process died and Dagster could not start them again.
"""

import time
from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from assets.support.keys import address_of, key_of
from assets.support.runs.own_checks import own_checks
from assets.support.runs.tags import RETRIED_BY, WILL_RETRY
from gristmill.environment import INTERVAL
from gristmill.recipes.catalogue import Catalogue
from resources.pages.news import with_news, without_news
from sensors.alert_events import (
    ATTEMPT,
    MOST,
    events_after,
    is_undecided,
    launched_again,
    never_started,
    newest_event_id,
    was_forgotten,
)
from sensors.ticks import has_partition, requests_in_words

MOST_IN_A_TICK = 500
"""Largest number of runs that a tick requests; the next tick continues."""
PATIENCE = 600
"""Seconds after which a run that Dagster wanted to launch again is taken for forgotten."""


def unstarted_sensor(
    catalogue: Catalogue, interval: int = INTERVAL, now: Callable[[], float] = time.time
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks.
        now: the clock, in seconds.
    """
    sources = dict(catalogue.partitioned_assets())

    @dg.sensor(
        name="unstarted_runs",
        asset_selection=dg.AssetSelection.all(),
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests again what runs should have made that never started, or died as the code server was away",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        kind, instance = dg.DagsterEventType.RUN_FAILURE, context.instance
        if context.cursor is None:  # the first tick: what failed before is history
            told = "runs that Dagster gives up from now on are requested again"
            cursor = with_news(told, str(newest_event_id(instance, kind)))
            return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=cursor)
        after = int(without_news(context.cursor))
        asked: list[dg.RunRequest] = []
        said: list[str] = []
        for record in events_after(instance, kind, after):
            if len(asked) >= MOST_IN_A_TICK or _is_open(instance, record.event_log_entry, now()):
                break
            after = record.storage_id
            try:
                asked += _requests(context, record.event_log_entry.run_id, sources)
            except Exception as error:  # noqa: BLE001 - one run that cannot be read must not hold back the others
                said.append(f"run {record.event_log_entry.run_id} is passed: {error}")
        for line in said:
            context.log.warning(line)
        if asked:
            return dg.SensorResult(run_requests=asked, cursor=with_news(requests_in_words(asked), str(after)))
        told = "; ".join(said) or "nothing new: no run that failed was given up by Dagster"
        return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=with_news(told, str(after)))

    return watch


def _is_open(instance: dg.DagsterInstance, entry: dg.EventLogEntry, now: float) -> bool:
    """Whether Dagster may still launch a failed run again: it says so at once, and does it, or not, a moment later."""
    if is_undecided(instance, entry, now):
        return True
    run = instance.get_run_by_id(entry.run_id)
    wanted = run is not None and run.tags.get(WILL_RETRY) == "true" and RETRIED_BY not in run.tags
    return wanted and abs(now - entry.timestamp) < PATIENCE


def _requests(context: dg.SensorEvaluationContext, run_id: str, sources: Mapping[str, str]) -> Iterator[dg.RunRequest]:
    """The request for what a run should have made, unless it failed at work, or another run has taken it up."""
    instance, graph = context.instance, context.repository_def.asset_graph  # type: ignore[union-attr]  # a sensor has it
    run = instance.get_run_by_id(run_id)
    if run is None or RETRIED_BY in run.tags or _is_canceled(instance, run):
        return
    if not never_started(instance, run_id) and not was_forgotten(instance, run):
        return
    attempts = launched_again(run)
    snapshot = run.tags.get("dagster/partition")
    asked = {
        key_of(address)
        for address in _planned(instance, run_id)
        if graph.has(key_of(address))
        and has_partition(instance, sources.get(address), snapshot)
        and _is_newest(instance, run_id, address, snapshot)
    }
    if not asked or attempts >= MOST:
        return
    yield dg.RunRequest(
        run_key=run_id,  # Dagster launches one run for it, also if the daemon is killed before the cursor is written
        partition_key=snapshot,
        asset_selection=sorted(asked),
        asset_check_keys=own_checks(context, sorted(asked)),
        run_config=dict(run.run_config),
        tags={
            **{key: value for key, value in run.tags.items() if not key.startswith(("dagster/", ".dagster/"))},
            ATTEMPT: str(attempts + 1),
        },
    )


def _is_canceled(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a person has canceled the backfill of a run."""
    backfill = instance.get_backfill(run.tags["dagster/backfill"]) if "dagster/backfill" in run.tags else None
    return backfill is not None and backfill.status.value in {"CANCELING", "CANCELED"}


def _planned(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """The assets that a run was to make."""
    planned = instance.event_log_storage.get_logs_for_run(
        run_id, of_type={dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED}
    )
    keys = {entry.dagster_event.asset_key for entry in planned if entry.dagster_event}
    return sorted(address_of(key) for key in keys if key)


def _is_newest(instance: dg.DagsterInstance, run_id: str, address: str, snapshot: str | None) -> bool:
    """Whether no later run was to make the same partition."""
    newest = instance.event_log_storage.get_latest_planned_materialization_info(key_of(address), snapshot)
    return newest is not None and newest.run_id == run_id
