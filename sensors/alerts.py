"""The sensor `alerts`: it posts failed runs and failed checks to the webhook of GRISTMILL_WEBHOOK."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import dagster as dg
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.run_request import DagsterRunReaction
from dagster._core.storage.tags import WILL_RETRY_TAG

from assets.support.keys import address_of
from assets.support.last_reading import AS_OF
from assets.support.next_steps import OF_KIND, OF_LATE, next_of_check
from gristmill.environment import Environment
from gristmill.errors import StoreError, visible
from resources.webhook import post
from sensors.ticks import found

PAGE = 50
"""Number of events of a kind that a tick reads; the next tick continues."""
LONGEST = 2000
"""Characters of an error in a message; the run's page has all of it."""
REMEMBERED = 256
"""Number of alerts for which the cursor knows when they were last posted."""

_KINDS = (
    dg.DagsterEventType.RUN_FAILURE,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.FRESHNESS_STATE_CHANGE,
)

Post = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Alert:
    """What is posted, as JSON, besides `text`, `url` and `silenced`.

    Attributes:
        event: `run_failure`, `check_failure`, or `source_late`.
        run: id of the run; empty for `source_late`, as is the next.
        job: name of the run's job.
        assets: addresses of the assets that the run makes, or the one of the check.
        snapshot: the partition; empty without one.
        check: name of the check; empty for a run.
        error: what went wrong, in the words of the run or the check.
        next: what to do next.
    """

    event: str
    run: str
    job: str
    assets: Sequence[str]
    snapshot: str
    check: str
    error: str
    next: str

    @property
    def topic(self) -> str:
        """Alerts of one topic are posted once in GRISTMILL_WEBHOOK_SILENCE: another snapshot is the same topic."""
        return f"{self.event} {self.job} {self.check} {' '.join(self.assets)}"[:200]


@dataclass
class Memory:
    """The cursor.

    Attributes:
        said: what the tick has posted, in words. It is the first field, because Dagster's list of ticks shows the
            beginning of a cursor.
        after: by the kind of event, the storage id of the newest that was looked at.
        posted: by topic, when it was last posted, and how many alerts were left out since.
    """

    said: str = ""
    after: dict[str, int] = field(default_factory=dict)
    posted: dict[str, tuple[float, int]] = field(default_factory=dict)


def alert_sensors(environment: Environment) -> list[dg.SensorDefinition]:
    """The sensor, if the environment names a webhook."""
    return [alert_sensor(environment)] if environment.webhook else []


def alert_sensor(
    environment: Environment, post: Post = post, now: Callable[[], float] = time.time
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        environment: names the webhook.
        post: posts a message.
        now: the clock, in seconds.
    """

    @dg.sensor(  # type: ignore[arg-type]  # Dagster takes a list of any of its results
        name="alerts",
        minimum_interval_seconds=environment.interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Posts failed runs and failed checks to the webhook of GRISTMILL_WEBHOOK",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason | list[DagsterRunReaction]:
        memory = _load(context.cursor)
        if memory is None:  # the first tick: what failed before is history
            memory = Memory(after={kind.value: _newest(context.instance, kind) for kind in _KINDS})
            context.update_cursor(json.dumps(asdict(memory)))
            return dg.SkipReason("failures from now on are posted")
        posted, words = _tick(context, environment, memory, post, now())
        memory.said = words if posted else ""
        context.update_cursor(json.dumps(asdict(memory)))
        if not posted:
            return dg.SkipReason(words)
        context.log.info(words)
        return found()

    return alerts


def _tick(
    context: dg.SensorEvaluationContext, environment: Environment, memory: Memory, post: Post, now: float
) -> tuple[int, str]:
    """Posts what is new. If nothing could be posted, the tick fails, and the next tick begins with the same alert.

    Returns:
        The number of messages that were posted, and what the tick has done in words.
    """
    posted = silenced = 0
    for kind in _KINDS:
        for record in _events(context.instance, kind, memory.after.get(kind.value, 0)):
            alert = _alert_of(context.instance, record.event_log_entry)
            if alert is not None:
                when, left_out = memory.posted.get(alert.topic, (0.0, 0))
                if now - when < environment.webhook_silence:
                    memory.posted[alert.topic] = (when, left_out + 1)
                    silenced += 1
                else:
                    try:
                        post(environment.webhook, message_of(alert, environment.ui_url, left_out))
                    except StoreError as error:
                        if posted == 0:
                            raise
                        context.log.warning(f"{error}; the next tick tries again")
                        return posted, f"{posted} posted; {error}"
                    memory.posted.pop(alert.topic, None)
                    memory.posted[alert.topic] = (now, 0)  # the newest is last
                    posted += 1
            memory.after[kind.value] = record.storage_id
    for topic in list(memory.posted)[:-REMEMBERED]:
        del memory.posted[topic]
    words = f"{posted} posted, {silenced} like one of the last {environment.webhook_silence} s"
    return posted, words if posted + silenced else "no failure"


def message_of(alert: Alert, ui: str, left_out: int) -> dict[str, Any]:
    """The message of an alert.

    Args:
        alert: the alert.
        ui: address of the UI; empty: no link.
        left_out: number of alerts of its topic that were left out since the last message.
    """
    page = f"runs/{alert.run}" if alert.run else f"assets/{alert.assets[0]}"
    url = f"{ui}/{page}" if ui else ""
    snapshot = f" ({alert.snapshot})" if alert.snapshot else ""
    what = f"{_of_run(alert)}{snapshot} failed"
    if alert.check:
        what = f"{alert.check} of {alert.assets[0]}{snapshot} failed"
    elif not alert.run:
        what = f"{alert.assets[0]} is late"
    lines = [f"{what}: {alert.error}", f"Next: {alert.next}"]
    if left_out:
        lines.append(f"{left_out} more like it since the last message")
    if url:
        lines.append(url)
    return {**asdict(alert), "text": "\n".join(lines), "url": url, "silenced": left_out}


def _of_run(alert: Alert) -> str:
    """The name of a run: its job, or its first asset if it belongs to no job, as runs of the automation do."""
    if not (alert.job.startswith("__") and alert.assets):
        return alert.job
    more = len(alert.assets) - 1
    return f"a run of {alert.assets[0]}{f' and {more} more' if more else ''}"


def _alert_of(instance: dg.DagsterInstance, entry: dg.EventLogEntry) -> Alert | None:
    """The alert for an event; None if it is no failure, or if its run will be tried again or tells it itself."""
    if entry.dagster_event and entry.dagster_event.event_type == dg.DagsterEventType.FRESHNESS_STATE_CHANGE:
        return _late(entry.dagster_event)
    run = instance.get_run_by_id(entry.run_id)
    if run is None or entry.dagster_event is None:
        return None
    common = {"run": run.run_id, "job": run.job_name, "snapshot": run.tags.get("dagster/partition", "")}
    if entry.dagster_event.event_type == dg.DagsterEventType.RUN_FAILURE:
        words, kind = _failure(entry.dagster_event)
        if run.tags.get(WILL_RETRY_TAG) == "true" or kind == "Superseded":
            return None
        assets = sorted(map(address_of, run.asset_selection or ()))
        following = OF_KIND.get(kind, "open the run's page; if its process died, re-execute it from failure")
        return Alert(event="run_failure", assets=assets, check="", error=_short(words), next=following, **common)
    result = entry.dagster_event.asset_check_evaluation_data
    if result.passed or result.severity != dg.AssetCheckSeverity.ERROR or result.blocking:
        return None  # a blocking check fails its run
    if AS_OF in result.metadata:
        return None  # the last result again, because a run has made the asset: nothing was read
    return Alert(
        event="check_failure",
        assets=[address_of(result.asset_key)],
        check=result.check_name,
        error=_short(result.description or "see the check's page"),
        next=next_of_check(result.check_name),
        **common,
    )


def _late(event: dg.DagsterEvent) -> Alert | None:
    """The alert for a source whose snapshots do not come (`expected_hours` of its recipe)."""
    change = event.asset_freshness_state_change_data
    if change.new_state != FreshnessState.FAIL:
        return None
    asset = address_of(change.key)
    return Alert(
        event="source_late",
        run="",
        job="",
        assets=[asset],
        snapshot="",
        check="",
        error="no new or changed snapshot within the hours that its recipe expects",
        next=OF_LATE,
    )


def _failure(event: dg.DagsterEvent) -> tuple[str, str]:
    """Why a run failed: in words, and the kind of error if one of our ops has failed."""
    data = event.job_failure_data
    first = data.first_step_failure_event
    if first is None:
        return (data.error.message if data.error else event.message or "no reason was recorded"), ""
    told = first.step_failure_data.user_failure_data
    if told is None:
        error = first.step_failure_data.error
        while error is not None and error.cause is not None:  # Dagster's own error is around it
            error = error.cause
        return f"{first.step_key}: {error.message if error else 'no reason was recorded'}", ""
    kind = told.metadata.get("kind")
    return f"{first.step_key}: {told.description}", str(kind.value) if kind else ""


def _short(words: str) -> str:
    """The words with their lines. Further lines are indented: what data say does not look like a line of ours."""
    words = "\n    ".join(visible(line) for line in words.strip().split("\n"))
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def _events(instance: dg.DagsterInstance, kind: dg.DagsterEventType, after: int) -> Iterator[dg.EventLogRecord]:
    """The events of a kind after a storage id, oldest first."""
    yield from _records(instance, dg.EventRecordsFilter(kind, after_cursor=after), ascending=True, limit=PAGE)


def _newest(instance: dg.DagsterInstance, kind: dg.DagsterEventType) -> int:
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


def _load(cursor: str | None) -> Memory | None:
    """The memory of a cursor; None if it cannot be read."""
    try:
        known = json.loads(cursor or "")
        posted = {str(topic): (float(when), int(count)) for topic, (when, count) in known["posted"].items()}
        return Memory(after={str(kind): int(after) for kind, after in known["after"].items()}, posted=posted)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
