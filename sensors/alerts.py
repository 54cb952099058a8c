"""The sensor `alerts`: it posts failed runs and failed checks to the webhook of GRISTMILL_WEBHOOK."""

import json
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import dagster as dg

from gristmill.environment import Environment
from gristmill.errors import StoreError
from gristmill.recipes.catalogue import Catalogue
from resources.pages.news import with_news
from resources.webhook import RefusedMessage, post_message
from sensors.alert_events import UNDECIDED, Undecided, alert_of, events_after, is_undecided, newest_event_id
from sensors.alert_memory import KINDS, Memory, load_memory
from sensors.alert_messages import NOTHING, Alert, Unposted, message_of, message_of_more, unreadable_alert
from sensors.lateness import expected_hours, never_come
from sensors.ticks import Found, success_result

BOX = 15.0
"""Seconds after which a tick posts nothing more. The last post may take 40 s, and Dagster ends a tick after 60 s."""
MOST = 20
"""Most alerts that a tick posts; one more message counts the others."""
REMEMBERED = 256
"""Number of alerts for which the cursor knows when they were last posted."""
REFUSALS = 3
"""Number of ticks in which the webhook may refuse a message. After that it is passed, and the next message says so."""

MORE = "more"
"""The topic of the message that counts alerts."""


Post = Callable[[str, Mapping[str, Any]], None]


def alert_sensors(environment: Environment, catalogue: Catalogue) -> list[dg.SensorDefinition]:
    """The sensor, if the environment names a webhook."""
    return [alert_sensor(environment, expected_hours(catalogue))] if environment.webhook else []


def alert_sensor(
    environment: Environment,
    hours: Mapping[str, float],
    post: Post = post_message,
    now: Callable[[], float] = time.time,
    box: float = BOX,
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        environment: names the webhook.
        hours: hours within which a snapshot is expected, by the address of the raw asset.
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
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason | Found:
        memory = load_memory(context.cursor)
        if memory is None:  # the first tick: what failed before is history
            after = {kind.value: newest_event_id(context.instance, kind) for kind in KINDS}
            told = "failures from now on are posted"
            context.update_cursor(with_news(told, json.dumps(asdict(Memory(after)))))
            return dg.SkipReason(told)
        tick = _Tick(context.instance, environment, memory, hours, post, now(), box)
        words = tick.run()
        context.update_cursor(with_news(words, json.dumps(asdict(memory))))
        if not tick.posted:
            return dg.SkipReason(words)
        context.log.info(words)
        return success_result()

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
        self._crowd: dict[str, Unposted] = {}
        self._before_crowd = memory

    def run(self) -> str:
        """Posts what is new, and says what was done."""
        try:
            for late in never_come(self._instance, self._hours, self._memory.awaited, self._now):
                self._tell(late)
            unfinished = [kind for kind in KINDS if not self._tell_all(kind)]
            self._tell_of_more()
        except StoreError as error:
            if self.posted == 0 and not isinstance(error, RefusedMessage):
                raise
            before = self._before_crowd
            self._memory.after, self._memory.posted, self._memory.awaited = before.after, before.posted, before.awaited
            return f"{self.posted} posted; {error}; the next tick tries again"
        for kept in (self._memory.posted, self._memory.refused, self._memory.passed):
            for topic in list(kept)[:-REMEMBERED]:
                del kept[topic]
        counts = f"{self.posted} posted, {self._silenced} like one of the last {self._environment.webhook_silence} s"
        words = counts if self.posted + self._silenced else "no failure"
        return f"{words}; the next tick continues" if unfinished else words

    def _tell_all(self, kind: dg.DagsterEventType) -> bool:
        """Posts what is new of one kind of events; False if time was up before the last of them."""
        for record in events_after(self._instance, kind, self._memory.after[kind.value]):
            if time.monotonic() > self._end:
                return False
            alert = self._read(record.event_log_entry)
            if alert is UNDECIDED:
                break
            if isinstance(alert, Alert):
                self._tell(alert)
            self._memory.after[kind.value] = record.storage_id
        return True

    def _read(self, entry: dg.EventLogEntry) -> Alert | Undecided | None:
        """The alert for an event, UNDECIDED, or None. Whatever is wrong with an event, those behind it are read."""
        try:
            undecided = is_undecided(self._instance, entry, self._now)
            return UNDECIDED if undecided else alert_of(self._instance, entry, self._hours)
        except Exception as error:  # noqa: BLE001 - one event that cannot be read must not stop all alerts for good
            return unreadable_alert(error, run=entry.run_id)

    def _tell(self, alert: Alert) -> None:
        """Posts an alert, unless one of its topic was posted lately, or many others in this tick."""
        when, left = self._memory.posted.get(alert.topic, (0.0, NOTHING))
        if self._is_silent(when):
            self._memory.posted[alert.topic] = (when, left.with_alert(alert.run))
            self._silenced += 1
        elif self.posted < MOST:
            message = message_of(alert, self._environment.ui_url, left.number, self._environment.lake)
            refusal = self._deliver(alert.topic, message)
            self._remember(alert.topic)
            if refusal:
                self._memory.passed[alert.topic] = left.with_alert(alert.run, refusal)
        else:
            if not self._crowd:
                self._before_crowd = deepcopy(self._memory)
            self._crowd[alert.topic] = self._crowd.get(alert.topic, NOTHING).with_alert(alert.run)

    def _tell_of_more(self) -> None:
        """Posts the number of those left out: of topics whose silence is over, of a crowd, and of refused messages."""
        if time.monotonic() > self._end and not self._crowd:
            return
        over = [topic for topic, (when, _) in self._memory.posted.items() if not self._is_silent(when)]
        left = {topic: each for topic in over if (each := self._memory.posted[topic][1]).number}
        for topic, each in (*self._crowd.items(), *self._memory.passed.items()):
            left[topic] = left.get(topic, NOTHING).and_those(each)
        if left:
            message = message_of_more(left, self._environment.ui_url, self._environment.lake)
            if not self._deliver(MORE, message):
                self._memory.passed.clear()
        for topic in over:
            del self._memory.posted[topic]
        for topic in self._crowd:
            self._remember(topic)

    def _deliver(self, topic: str, message: Mapping[str, Any]) -> str:
        """Posts a message.

        Returns:
            Why it was passed, if the webhook has refused it in REFUSALS ticks; else an empty text.

        Raises:
            RefusedMessage: the webhook refused it; the next tick tries again.
            StoreError: the webhook took nothing.
        """
        try:
            self._post(self._environment.webhook, message)
        except RefusedMessage as error:
            refusals = self._memory.refused.pop(topic, 0) + 1
            if refusals < REFUSALS:
                self._memory.refused[topic] = refusals
                raise
            return str(error)
        self._memory.refused.pop(topic, None)
        self.posted += 1
        return ""

    def _is_silent(self, when: float) -> bool:
        return 0 <= self._now - when < self._environment.webhook_silence  # a clock may be set back

    def _remember(self, topic: str) -> None:
        self._memory.posted.pop(topic, None)
        self._memory.posted[topic] = (self._now, NOTHING)  # the newest is last
