"""The watchman: a thread of the web server. It tells the webhook what the daemon cannot: that the daemon is gone.

Once a day it says that it lives, so that silence means something too.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from gristmill.environment import Environment
from gristmill.threads import start_thread
from resources.health import Health, Looker
from resources.webhook import RefusedMessage, post_message

EVERY = 25.0
"""Seconds between two looks. A daemon has a heartbeat every 30 s: of two daemons, both are then seen."""
PATIENCE = 120.0
"""Seconds for which a thing must be wrong before it is told: a part that is started again answers soon."""
DAY = 86_400.0
"""Seconds between two messages `alive`."""
KEY = "gristmill/watchman"
"""Where Dagster's database has the memory of the watchman, which several web servers share."""
NEXT: Mapping[str, str] = {
    "daemon": "see whether dagster-daemon runs, and what its log says; start it again",
    "ticks": "see the daemon's log, and whether the database of Dagster takes writes: a lock, or a full disk",
    "second daemon": "find the two processes dagster-daemon, and end one of them",
    "sensor": "open the sensor's page: its newest tick has the error; the sensor goes on by itself once that is mended",
    "code server": "see whether the code server runs; start it again, or reload the code if it does not load",
    "database": "see whether the database of Dagster answers",
    "lake": "see whether the lake answers: the disk is mounted, or the bucket can be listed",
    "write into the lake": "see whether the disk is full or mounted read-only, the bucket is over its quota, and the"
    " credentials of this process may write",
}
"""What to do next, by the beginning of the topic."""

Post = Callable[[str, Mapping[str, Any]], None]


@dataclass
class _Told:
    """What was posted.

    Attributes:
        alive: when the last message `alive` was posted, in seconds since 1970.
        wrong: topics that were posted and are still wrong.
    """

    alive: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Watchman:
    """Looks every EVERY seconds, keeps what it found last, and posts what changed.

    Args:
        instance: Dagster's.
        looker: looker at the parts of the deployment.
        environment: names the webhook; without one nothing is posted.
        tells: whether this process posts. A web server that may change nothing does not.
        post: posts a message.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        looker: Looker,
        environment: Environment,
        *,
        tells: bool = True,
        post: Post = post_message,
    ) -> None:
        self._instance, self._looker, self._environment, self._post = instance, looker, environment, post
        self._tells = tells and bool(environment.webhook)
        self._begun: dict[str, float] = {}
        self._own = _Told()
        self._last: tuple[float, Health] | None = None
        self._end = threading.Event()

    def last_look(self) -> tuple[float, Health] | None:
        """The time of the last look, in seconds of time.monotonic(), and what it found; None before the first."""
        return self._last

    def start(self) -> None:
        """Starts the thread."""
        start_thread(self._run, name="watchman")

    def stop(self) -> None:
        """Ends the thread after its present look."""
        self._end.set()

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                self.look_and_post(time.time())
            except Exception as error:  # noqa: BLE001 - the watchman must outlive whatever it looks at
                sys.stderr.write(f"watchman: {type(error).__name__}: {error}\n")
            self._end.wait(EVERY)

    def look_and_post(self, now: float) -> None:
        """Looks once, and posts what is new.

        Args:
            now: the clock, in seconds since 1970.

        Raises:
            RefusedMessage: the webhook refused a message. The others are posted. The next turn posts it again.
            StoreError: the webhook took nothing. The next turn tries again.
        """
        health = self._looker.look(now)
        self._last = time.monotonic(), health
        self._begun = {topic: self._begun.get(topic, now) for topic in health.wrong}
        if self._tells:
            self._tell(health, now)

    def _tell(self, health: Health, now: float) -> None:
        shared = "database" not in health.wrong  # while it is away, this process remembers by itself
        told = self._told() if shared else self._own
        told.wrong = [topic for topic in told.wrong if topic in health.wrong]
        try:
            self._post_news(health, told, now, shared=shared)
        finally:  # whatever the webhook took: what is well again is told once it is wrong again
            self._remember(told, shared=shared)

    def _post_news(self, health: Health, told: _Told, now: float, *, shared: bool) -> None:
        refused: RefusedMessage | None = None
        for topic, words in health.wrong.items():
            if topic not in told.wrong and now - self._begun[topic] >= PATIENCE:
                try:
                    self._send("not_well", words, topic)
                except RefusedMessage as error:
                    refused = error
                    continue
                told.wrong.append(topic)
                self._remember(told, shared=shared)
        fresh = any(now - since < PATIENCE for since in self._begun.values())  # as when all is just being started
        if not fresh and not 0 <= now - told.alive < DAY:
            self._send("alive", said_daily(health))
            told.alive = now
        if refused:
            raise refused

    def _send(self, event: str, words: str, topic: str = "") -> None:
        step = next((step for part, step in NEXT.items() if topic.startswith(part)), "")
        where = self._environment
        page = f"{where.ui_url}/deployment" if where.ui_url else ""
        lines = [words, *([f"Next: {step}"] if step else []), f"Lake: {where.lake}", *([page] if page else [])]
        about = {"event": event, "run": "", "job": "", "assets": [], "snapshot": "", "check": "", "silenced": 0}
        said = {"error": words, "next": step, "text": "\n".join(lines), "url": page, "lake": where.lake}
        self._post(where.webhook, {**about, **said})

    def _told(self) -> _Told:
        with suppress(ValueError, TypeError, KeyError):
            found = json.loads(self._instance.daemon_cursor_storage.get_cursor_values({KEY})[KEY])
            return _Told(float(found["alive"]), [str(topic) for topic in found["wrong"]])
        return self._own

    def _remember(self, told: _Told, *, shared: bool) -> None:
        self._own = told
        if shared:
            self._instance.daemon_cursor_storage.set_cursor_values({KEY: json.dumps(vars(told))})


def said_daily(health: Health) -> str:
    """The words of the daily message.

    >>> said_daily(Health(queued=2, queue_seconds=90, tick_seconds=12, code_servers=1))
    'Gristmill is alive: 2 runs wait or start, the oldest for 90 s; the newest tick was 12 s ago; 1 code server answers'
    >>> said_daily(Health(queued=0, tick_seconds=12, code_servers=1, off=["raw_arrivals"], closed_pools=["tag"]))[-75:]
    '1 code server answers; switched off: raw_arrivals; pools without slots: tag'
    """
    servers = f"{_number(health.code_servers)} code server{' answers' if health.code_servers == 1 else 's answer'}"
    oldest = "" if health.queue_seconds is None else f", the oldest for {health.queue_seconds} s"
    queue = f"{_number(health.queued)} runs wait or start{oldest}"
    tick = "no sensor has ticked" if health.tick_seconds is None else f"the newest tick was {health.tick_seconds} s ago"
    wrong = "".join(f"; but {words}" for words in health.wrong.values())
    held = {"switched off": health.off, "paused": health.paused, "pools without slots": health.closed_pools}
    told = "".join(f"; {words}: {', '.join(names)}" for words, names in held.items() if names)
    return f"Gristmill is alive: {queue}; {tick}; {servers}{told}{wrong}"


def _number(known: int | None) -> str:
    return "an unknown number of" if known is None else str(known)
