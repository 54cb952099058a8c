"""Events of Dagster, and the alerts that they become."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import dagster as dg

from assets.support.keys import address_of
from assets.support.last_reading import is_news
from assets.support.next_steps import (
    OF_DEAD,
    OF_FORGOTTEN,
    OF_GIVEN_UP,
    OF_KIND,
    OF_UNSTARTED,
    OF_WITHOUT_ASSETS,
    RUN_NEXT,
    next_of_check,
)
from assets.support.runs.tags import RETRIED_BY, RETRY_NUMBER, WILL_RETRY
from gristmill.errors import escape_controls, shorten
from sensors.alert_messages import Alert
from sensors.lateness import LONGEST_NAME, late_alert

PAGE = 200
"""Number of events that are read at once."""
DECIDED = 60
"""Seconds after which a run that failed is not tried again, unless Dagster has said so."""
NOT_RETRIED = "Failed to retry run"
"""What Dagster writes into the log of a run that it could not start again."""
MOST = 3
"""How often a run is launched again, by Dagster or by the sensor `unstarted_runs`."""
ATTEMPT = "gristmill/attempt"
"""The tag of a run that the sensor has requested: how often it was launched again before it."""
LONGEST = 2000
"""Characters of an error in a message; the run's page has all of it."""


class Undecided(Enum):
    """Says of a failed run that Dagster may still try it again: the next tick reads its event."""

    WAIT = "wait"


UNDECIDED = Undecided.WAIT


def is_undecided(instance: dg.DagsterInstance, entry: dg.EventLogEntry, now: float) -> bool:
    """Whether Dagster may still say that a failed run will be tried again: it says so after the failure itself."""
    failed = entry.dagster_event and entry.dagster_event.event_type == dg.DagsterEventType.RUN_FAILURE
    if not failed or not instance.run_retries_enabled or abs(now - entry.timestamp) >= DECIDED:
        return False
    run = instance.get_run_by_id(entry.run_id)
    return run is not None and WILL_RETRY not in run.tags


def never_started(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether a run failed without a begin: the queue or run monitoring gave up, as no code server launched it."""
    record = instance.get_run_record_by_id(run_id)
    return record is not None and record.start_time is None and record.dagster_run.status == dg.DagsterRunStatus.FAILURE


def was_forgotten(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether Dagster meant to start a run again and did not: it tries once, and the code server may be away just then.

    As long as it has not tried, the answer is the same: the caller waits first (`is_undecided`).
    """
    if run.status != dg.DagsterRunStatus.FAILURE or RETRIED_BY in run.tags:
        return False
    if run.tags.get(WILL_RETRY) == "true":
        return True
    told = instance.event_log_storage.get_logs_for_run(run.run_id, of_type={dg.DagsterEventType.ENGINE_EVENT})
    return any(entry.dagster_event and entry.dagster_event.message == NOT_RETRIED for entry in told)


def launched_again(run: dg.DagsterRun) -> int:
    """The number of times that what a run makes was launched again before it, by Dagster or by the sensor
    `unstarted_runs`.
    """
    return int(run.tags.get(ATTEMPT, 0)) + int(run.tags.get(RETRY_NUMBER, 0))


def alert_of(instance: dg.DagsterInstance, entry: dg.EventLogEntry, hours: Mapping[str, float]) -> Alert | None:
    """The alert for an event; None if it is no failure, or if its run will be tried again or tells it itself."""
    if entry.dagster_event and entry.dagster_event.event_type == dg.DagsterEventType.FRESHNESS_STATE_CHANGE:
        change = entry.dagster_event.asset_freshness_state_change_data
        is_late = change.new_state.value == "FAIL"
        return late_alert(instance, change.key, hours.get(address_of(change.key))) if is_late else None
    if entry.dagster_event is None:
        return None
    failure = entry.dagster_event.event_type == dg.DagsterEventType.RUN_FAILURE
    result = None if failure else entry.dagster_event.asset_check_evaluation_data
    if result and (result.passed or result.severity != dg.AssetCheckSeverity.ERROR or result.blocking):
        return None  # a blocking check fails its run
    if result and not is_news(result):
        return None  # it was told when it was read
    run = instance.get_run_by_id(entry.run_id)
    if run is None:
        return None
    snapshot = escape_controls(shorten(run.tags.get("dagster/partition", ""), LONGEST_NAME))
    common = {"run": run.run_id, "job": run.job_name, "snapshot": snapshot}
    if result is None:
        words, kind, following = _failure(entry.dagster_event)
        if run.tags.get(WILL_RETRY) == "true" or kind == "Superseded":
            return None
        assets = _assets(instance, run)
        if not kind and never_started(instance, run.run_id):
            following = _unless_last(run, OF_UNSTARTED) if assets else OF_WITHOUT_ASSETS
        elif not kind and was_forgotten(instance, run):
            following = _unless_last(run, OF_FORGOTTEN) if assets else OF_WITHOUT_ASSETS
        return Alert(event="run_failure", assets=assets, check="", error=_short(words), next=following, **common)
    return Alert(
        event="check_failure",
        assets=[address_of(result.asset_key)],
        check=result.check_name,
        error=_short(result.description or "see the check's page"),
        next=next_of_check(result.check_name),
        **common,
    )


def _unless_last(run: dg.DagsterRun, following: str) -> str:
    """What to do next about a run that is requested again, unless it was the last time."""
    return following if launched_again(run) < MOST else OF_GIVEN_UP


def _assets(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[str]:
    """The assets of a run that failed; if it is a run of a whole job, for which Dagster names none, those not made."""
    if run.asset_selection:
        return sorted(map(address_of, run.asset_selection))
    planned, made = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED, dg.DagsterEventType.ASSET_MATERIALIZATION
    keys: dict[dg.DagsterEventType, set[str]] = {planned: set(), made: set()}
    for entry in instance.event_log_storage.get_logs_for_run(run.run_id, of_type={planned, made}):
        if entry.dagster_event and entry.dagster_event.asset_key:
            keys[entry.dagster_event.event_type].add(address_of(entry.dagster_event.asset_key))
    return sorted(keys[planned] - keys[made])


def _failure(event: dg.DagsterEvent) -> tuple[str, str, str]:
    """Why a run failed, in words; the kind of error if one of our ops has failed; and what to do next.

    If run monitoring, the queue or the code server wrote the event, because the run's process could not, there is no
    kind.
    """
    data = event.job_failure_data if event.event_specific_data is not None else None
    first = data.first_step_failure_event if data else None
    if first is None:
        error = data.error if data else None
        return (error.message if error else event.message or "no reason was recorded"), "", OF_DEAD
    told = first.step_failure_data.user_failure_data
    if told is None:
        error = first.step_failure_data.error
        while error is not None and error.cause is not None:  # Dagster's own error is around it
            error = error.cause
        return f"{first.step_key}: {error.message if error else 'no reason was recorded'}", "", OF_DEAD
    kind, following = (str(told.metadata[key].value) if key in told.metadata else "" for key in ("kind", RUN_NEXT))
    return f"{first.step_key}: {told.description}", kind, following or OF_KIND.get(kind, OF_DEAD)


def _short(words: str) -> str:
    """The words with their lines. Further lines are indented: what data say does not look like a line of ours."""
    words = "\n    ".join(escape_controls(line) for line in words.strip().split("\n"))
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def events_after(instance: dg.DagsterInstance, kind: dg.DagsterEventType, after: int) -> Iterator[dg.EventLogRecord]:
    """The events of a kind after a storage id, oldest first."""
    while page := _records(instance, dg.EventRecordsFilter(kind, after_cursor=after), ascending=True, limit=PAGE):
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].storage_id


def newest_event_id(instance: dg.DagsterInstance, kind: dg.DagsterEventType) -> int:
    """The storage id of the newest event of a kind; 0 without one."""
    newest = _records(instance, dg.EventRecordsFilter(kind), ascending=False, limit=1)
    return newest[0].storage_id if newest else 0


def _records(
    instance: dg.DagsterInstance, wanted: dg.EventRecordsFilter, *, ascending: bool, limit: int
) -> Sequence[dg.EventLogRecord]:
    """Events of all runs. SQLite keeps them in a database for each run, but these kinds also in that of all runs."""
    from dagster._core.storage.event_log.sql_event_log import (  # noqa: PLC0415 - a quarter of a second of each load
        SqlEventLogStorage,
    )

    log = instance.event_log_storage
    if not isinstance(log, SqlEventLogStorage):
        return []
    return SqlEventLogStorage.get_event_records(log, wanted, limit=limit, ascending=ascending)
