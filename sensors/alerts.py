"""The sensor `alerts`: it posts failed runs and failed checks to the webhook of GRISTMILL_WEBHOOK."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import dagster as dg
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.run_request import DagsterRunReaction
from dagster._core.storage.tags import WILL_RETRY_TAG

from assets.support.keys import address_of
from assets.support.last_reading import AS_OF
from assets.support.next_steps import OF_KIND, next_of_check
from gristmill.environment import Environment
from gristmill.errors import StoreError, shorten, visible
from gristmill.recipes.catalogue import Catalogue
from resources.webhook import post
from sensors.alert_messages import Alert, message_of, message_of_more
from sensors.lateness import LONGEST_NAME, expected_hours, late_alert, never_come
from sensors.ticks import found

PAGE = 200
"""Number of events that are read at once."""
BOX = 15.0
"""Seconds after which a tick posts nothing more. The last post may take 40 s, and Dagster ends a tick after 60 s."""
MOST = 20
"""Most alerts that a tick posts; one more message counts the others."""
UNDECIDED = 60
"""Seconds after which a run that failed is not tried again, unless Dagster has said so."""
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


@dataclass
class Memory:
    """The cursor.

    Attributes:
        said: what the tick has posted, in words. It is the first field, because Dagster's list of ticks shows the
            beginning of a cursor.
        after: by the kind of event, the storage id of the newest that was looked at.
        posted: by topic, when it was last posted, and how many alerts were left out since.
        awaited: when sources were first seen that may never have had a snapshot, see never_come().
    """

    said: str = ""
    after: dict[str, int] = field(default_factory=dict)
    posted: dict[str, tuple[float, int]] = field(default_factory=dict)
    awaited: dict[str, float | None] = field(default_factory=dict)


def alert_sensors(environment: Environment, catalogue: Catalogue) -> list[dg.SensorDefinition]:
    """The sensor, if the environment names a webhook."""
    return [alert_sensor(environment, expected_hours(catalogue))] if environment.webhook else []


def alert_sensor(
    environment: Environment,
    hours: Mapping[str, float],
    post: Post = post,
    now: Callable[[], float] = time.time,
    box: float = BOX,
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        environment: names the webhook.
        hours: within which a snapshot is expected, by the address of the raw asset.
        post: posts a message.
        now: the clock, in seconds.
        box: seconds after which a tick posts nothing more.
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
        tick = _Tick(context.instance, environment, memory, hours, post, now(), box)
        words = tick.run()
        memory.said = words if tick.posted else ""
        context.update_cursor(json.dumps(asdict(memory)))
        if not tick.posted:
            return dg.SkipReason(words)
        context.log.info(words)
        return found()

    return alerts


class _Tick:
    """One tick. If nothing could be posted, it fails, and the next tick begins with the same alert.

    Dagster ends a tick after 60 s, without its cursor: all that it has posted would come again. So its time is limited.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        environment: Environment,
        memory: Memory,
        hours: Mapping[str, float],
        post: Post,
        now: float,
        box: float,
    ) -> None:
        self._instance, self._environment, self._memory = instance, environment, memory
        self._hours = hours
        self._post, self._now, self._end = post, now, time.monotonic() + box
        self.posted = self._silenced = 0
        self._crowd: dict[str, int] = {}
        self._before_crowd = memory

    def run(self) -> str:
        """Posts what is new, and says what was done."""
        try:
            whole = True
            for late in never_come(self._instance, self._hours, self._memory.awaited, self._now):
                self._tell(late)
            for kind in _KINDS:
                for record in _events(self._instance, kind, self._memory.after[kind.value]):
                    if time.monotonic() > self._end:
                        whole = False
                        break
                    if _is_undecided(self._instance, record.event_log_entry, self._now):
                        break
                    alert = _alert_of(self._instance, record.event_log_entry, self._hours)
                    if alert is not None:
                        self._tell(alert)
                    self._memory.after[kind.value] = record.storage_id
            self._tell_of_more()
        except StoreError as error:
            if self.posted == 0:
                raise
            before = self._before_crowd
            self._memory.after, self._memory.posted, self._memory.awaited = before.after, before.posted, before.awaited
            return f"{self.posted} posted; {error}; the next tick tries again"
        for topic in list(self._memory.posted)[:-REMEMBERED]:
            del self._memory.posted[topic]
        counts = f"{self.posted} posted, {self._silenced} like one of the last {self._environment.webhook_silence} s"
        words = counts if self.posted + self._silenced else "no failure"
        return words if whole else f"{words}; the next tick continues"

    def _tell(self, alert: Alert) -> None:
        """Posts an alert, unless one of its topic was posted lately, or many others in this tick."""
        when, left_out = self._memory.posted.get(alert.topic, (0.0, 0))
        if self._is_silent(when):
            self._memory.posted[alert.topic] = (when, left_out + 1)
            self._silenced += 1
        elif self.posted < MOST:
            message = message_of(alert, self._environment.ui_url, left_out, self._environment.lake)
            self._post(self._environment.webhook, message)
            self._remember(alert.topic)
            self.posted += 1
        else:
            if not self._crowd:
                self._before_crowd = deepcopy(self._memory)
            self._crowd[alert.topic] = self._crowd.get(alert.topic, 0) + 1

    def _tell_of_more(self) -> None:
        """Posts the number of those that were left out: of topics whose silence is over, and of a crowd."""
        if time.monotonic() > self._end and not self._crowd:
            return
        over = [topic for topic, (when, _) in self._memory.posted.items() if not self._is_silent(when)]
        left = {topic: self._memory.posted[topic][1] for topic in over if self._memory.posted[topic][1]}
        for topic, number in self._crowd.items():
            left[topic] = left.get(topic, 0) + number
        if left:
            message = message_of_more(left, self._environment.ui_url, self._environment.lake)
            self._post(self._environment.webhook, message)
            self.posted += 1
        for topic in over:
            del self._memory.posted[topic]
        for topic in self._crowd:
            self._remember(topic)

    def _is_silent(self, when: float) -> bool:
        return 0 <= self._now - when < self._environment.webhook_silence  # a clock may be set back

    def _remember(self, topic: str) -> None:
        self._memory.posted.pop(topic, None)
        self._memory.posted[topic] = (self._now, 0)  # the newest is last


def _is_undecided(instance: dg.DagsterInstance, entry: dg.EventLogEntry, now: float) -> bool:
    """Whether Dagster may still say that a failed run will be tried again: it says so after the failure itself."""
    failed = entry.dagster_event and entry.dagster_event.event_type == dg.DagsterEventType.RUN_FAILURE
    if not failed or not instance.run_retries_enabled or abs(now - entry.timestamp) >= UNDECIDED:
        return False
    run = instance.get_run_by_id(entry.run_id)
    return run is not None and WILL_RETRY_TAG not in run.tags


def _alert_of(instance: dg.DagsterInstance, entry: dg.EventLogEntry, hours: Mapping[str, float]) -> Alert | None:
    """The alert for an event; None if it is no failure, or if its run will be tried again or tells it itself."""
    if entry.dagster_event and entry.dagster_event.event_type == dg.DagsterEventType.FRESHNESS_STATE_CHANGE:
        change = entry.dagster_event.asset_freshness_state_change_data
        is_late = change.new_state == FreshnessState.FAIL
        return late_alert(instance, change.key, hours.get(address_of(change.key))) if is_late else None
    if entry.dagster_event is None:
        return None
    failure = entry.dagster_event.event_type == dg.DagsterEventType.RUN_FAILURE
    result = None if failure else entry.dagster_event.asset_check_evaluation_data
    if result and (result.passed or result.severity != dg.AssetCheckSeverity.ERROR or result.blocking):
        return None  # a blocking check fails its run
    if result and AS_OF in result.metadata:
        return None  # the last result again, because a run has made the asset: nothing was read
    run = instance.get_run_by_id(entry.run_id)
    if run is None:
        return None
    snapshot = visible(shorten(run.tags.get("dagster/partition", ""), LONGEST_NAME))
    common = {"run": run.run_id, "job": run.job_name, "snapshot": snapshot}
    if result is None:
        words, kind = _failure(entry.dagster_event)
        if run.tags.get(WILL_RETRY_TAG) == "true" or kind == "Superseded":
            return None
        assets = _assets(instance, run)
        following = OF_KIND.get(kind, "open the run's page; if its process died, re-execute it from failure")
        return Alert(event="run_failure", assets=assets, check="", error=_short(words), next=following, **common)
    return Alert(
        event="check_failure",
        assets=[address_of(result.asset_key)],
        check=result.check_name,
        error=_short(result.description or "see the check's page"),
        next=next_of_check(result.check_name),
        **common,
    )


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
    while page := _records(instance, dg.EventRecordsFilter(kind, after_cursor=after), ascending=True, limit=PAGE):
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].storage_id


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
        found = json.loads(cursor or "")
        after = {kind.value: int(found["after"][kind.value]) for kind in _KINDS}
        posted = {str(topic): (float(when), int(count)) for topic, (when, count) in found["posted"].items()}
        awaited = {
            str(asset): None if since is None else float(since) for asset, since in found.get("awaited", {}).items()
        }
        return Memory(after=after, posted=posted, awaited=awaited)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
