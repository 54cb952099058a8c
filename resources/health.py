"""Whether the parts of a deployment answer: the daemon, sensors, the queue, the code servers, the alerts and the lake.

What a look finds are numbers and words of Gristmill alone. No word of the data, of an error or of an address is in it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dagster as dg

from gristmill.environment import Environment
from gristmill.errors import Conflict
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.lake.store.open import Lake
from gristmill.threads import start_thread
from resources.pages.news import without_news
from resources.pauses import paused_names

if TYPE_CHECKING:
    import threading

GONE = 300.0
"""Seconds without a heartbeat, after which a part of the daemon counts as gone."""
FAILURES = 3
"""A sensor of which so many ticks in a row failed counts as failing."""
FORGOTTEN = 3600.0
"""Seconds without a tick, after which nobody looks at a sensor: the code has it no more, or the daemon is gone."""
REMEMBERED = 7 * 86_400.0
"""Seconds for which the newest tick of a sensor counts."""
LIMIT = 10.0
"""Seconds that a look waits for each part."""
WRITES = 300.0
"""Seconds between two writes into a lake that takes them. A bucket that keeps versions keeps one of each."""
WAITING = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING)
ALERTS = "alerts"
"""The sensor that posts alerts."""

Locations = Callable[[], Mapping[str, Any]]
"""The code locations, as Dagster's workspace has them, by name."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """What a look found.

    Attributes:
        wrong: faults, a sentence each, by a topic such as `daemon`; empty: all is well.
        queued: number of runs that wait or start; None while the database does not say.
        queue_seconds: seconds since the oldest of them was created; 0 without one, None while the database does not
            say.
        tick_seconds: seconds since the newest tick of a sensor; None without one.
        alert_seconds: seconds since the newest alert was posted; None if none is known.
        code_servers: number of code servers that answer; None if asking for it has failed.
        off: names of the sensors of today's code that a person has switched off. That is not wrong, nor is the next:
        paused: names of the sources, mixes and dedupe recipes that a person has paused.
        closed_pools: names of the pools whose limit is 0: no step that needs one begins.
    """

    wrong: Mapping[str, str] = field(default_factory=dict)
    queued: int | None = None
    queue_seconds: int | None = None
    tick_seconds: int | None = None
    alert_seconds: int | None = None
    code_servers: int | None = None
    off: Sequence[str] = field(default_factory=list)
    paused: Sequence[str] = field(default_factory=list)
    closed_pools: Sequence[str] = field(default_factory=list)


class Looker:
    """Looks at each part in a thread of its own, so that a part that hangs hides no other.

    Args:
        instance: Dagster's.
        locations: function that reads the code locations.
        environment: names the lake.
        writes: whether it may write into the lake.
    """

    def __init__(
        self, instance: dg.DagsterInstance, locations: Locations, environment: Environment, *, writes: bool = True
    ) -> None:
        self._instance, self._locations, self._writes = instance, locations, writes
        self._written = -WRITES
        self._lake = Lake(environment.lake, environment.options)
        self._hanging: dict[str, threading.Thread] = {}
        self._daemons: dict[str, list[str]] = {}
        self._two_daemons = -GONE

    def look(self, now: float) -> Health:
        """Looks at everything, which takes at most LIMIT seconds a part.

        Args:
            now: the clock, in seconds since 1970.

        Returns:
            The faults and the ages that the look found.
        """
        found: dict[str, Any] = {}
        parts: dict[str, Callable[[], None]] = {
            "database": lambda: found.update(self._of_database(now)),
            "code server": lambda: found.update(self._of_code()),
            "lake": self._of_lake,
        }
        wrong: dict[str, str] = {}
        for part, read in parts.items():
            self._within_limit(part, read, wrong)
        if "lake" not in wrong:
            self._within_limit("write into the lake", lambda: self._write(now), wrong)
        daemons, servers = found.pop("daemons", {}), found.pop("servers", {})
        if servers:  # sensors tick in the code server
            daemons.pop("ticks", None)
        wrong.update(daemons | found.pop("sensors", {}) | servers)
        return Health(wrong=wrong, **found)

    def _within_limit(self, part: str, read: Callable[[], None], wrong: dict[str, str]) -> None:
        """Reads a part; what is wrong goes to `wrong`. While an earlier look at it hangs, there is no other."""
        if (before := self._hanging.get(part)) and before.is_alive():
            wrong[part] = f"the {part} has not answered since an earlier look"
            return
        failed: list[str] = []

        def attempt() -> None:
            try:
                read()
            except Exception as error:  # noqa: BLE001 - whatever it is, a person must hear that this part cannot be read
                failed.append(type(error).__name__)

        thread = self._hanging[part] = start_thread(attempt, name=f"look at the {part}")
        thread.join(LIMIT)
        if thread.is_alive():
            wrong[part] = f"the {part} did not answer within {LIMIT:.0f} s"
        elif failed:
            cannot = "failed" if part.startswith("write") else "cannot be read"
            wrong[part] = f"the {part} {cannot} ({failed[0]})"

    def _of_database(self, now: float) -> dict[str, Any]:
        runs = self._instance.get_run_records(dg.RunsFilter(statuses=list(WAITING)), ascending=True)
        oldest = min((record.create_timestamp.timestamp() for record in runs), default=now)
        ticks, sensors, alert = self._of_sensors(now)
        daemons = self._of_daemons(now)
        if not daemons and ticks is not None and now - ticks > GONE:
            daemons = {"ticks": f"no sensor has had a tick for {GONE:.0f} s, though the daemon lives"}
        return {
            "daemons": daemons,
            "sensors": sensors,
            "queued": len(runs),
            "queue_seconds": _since(oldest, now),
            "tick_seconds": None if ticks is None else _since(ticks, now),
            "alert_seconds": None if alert is None else _since(alert, now),
            "paused": sorted(paused_names(self._instance)),
            "closed_pools": self._closed_pools(),
        }

    def _closed_pools(self) -> list[str]:
        log = self._instance.event_log_storage
        limits = log.get_pool_limits() if log.supports_global_concurrency_limits else ()
        return sorted(each.name for each in limits if each.limit == 0)

    def _of_daemons(self, now: float) -> dict[str, str]:
        beats = self._instance.get_daemon_heartbeats()
        self._remember_daemons(beats, now)
        if now - self._two_daemons < GONE:
            return {"second daemon": "two daemons are at work at once: each run is requested twice"}
        gone = [
            kind.lower().replace("_", " ")
            for kind in sorted(self._instance.get_required_daemon_types())
            if kind not in beats or now - beats[kind].timestamp > GONE
        ]
        if not gone:
            return {}
        return {"daemon": f"the daemon has shown no sign of life for {GONE:.0f} s ({', '.join(gone)})"}

    def _remember_daemons(self, beats: Mapping[str, Any], now: float) -> None:
        """Notes when a daemon was seen that another one had replaced. A daemon that was restarted has a new id."""
        for kind, beat in beats.items():
            seen = self._daemons.setdefault(kind, [])
            if beat.daemon_id in seen[:-1]:
                self._two_daemons = now
            seen[:] = [*(each for each in seen if each != beat.daemon_id), beat.daemon_id][-3:]

    def _of_sensors(self, now: float) -> tuple[float | None, dict[str, str], float | None]:
        """When the newest tick was, which sensors fail, and when an alert was posted last."""
        states = [
            state
            for state in self._instance.all_instigator_state()
            if state.instigator_type.value == "SENSOR" and state.is_running
        ]
        newest: list[float] = []
        failing: dict[str, str] = {}
        posted: list[float] = []
        for state in states:
            key = state.instigator_origin_id, state.selector_id
            last = self._instance.get_ticks(*key, after=now - REMEMBERED, limit=FAILURES + 1)
            newest += [tick.timestamp for tick in last[:1]]
            last = [tick for tick in last if tick.timestamp > now - FORGOTTEN]
            ended = [tick for tick in last if tick.status.value != "STARTED"][:FAILURES]
            if len(ended) == FAILURES and all(tick.status.value == "FAILURE" for tick in ended):
                failing[f"sensor {state.name}"] = f"the last {FAILURES} ticks of the sensor {state.name} failed"
            cursor = getattr(state.instigator_data, "cursor", None)
            for part in _failing(cursor) if last else ():
                words = f"the sensor {state.name} failed {FAILURES} times in a row at {part}, and passed it"
                failing[f"sensor {state.name} at {part}"] = words
            if state.name == ALERTS:
                posted += _posted(cursor)
        return max(newest, default=None), failing, max(posted, default=None)

    def _of_code(self) -> dict[str, Any]:
        entries = self._locations()
        answering = [name for name, entry in entries.items() if _answers(entry)]
        wrong = {
            f"code server {name}": f"the code server of {name} does not answer, or its code does not load"
            for name in sorted(entries.keys() - set(answering))
        }
        off = [name for each in answering for name in self._switched_off(entries[each].code_location)]
        return {"code_servers": len(answering), "servers": wrong, "off": sorted(off)}

    def _switched_off(self, location: Any) -> list[str]:
        """The sensors of a code location that a person has switched off. One that never was on is not among them."""
        sensors = [each for found in location.get_repositories().values() for each in found.get_sensors()]
        states = {
            each.name: self._instance.get_instigator_state(each.get_remote_origin_id(), each.selector_id)
            for each in sensors
        }
        return [name for name, state in states.items() if state and state.status.value == "STOPPED"]

    def _of_lake(self) -> None:
        next(iter(self._lake.store().list("ledgers/none/")), None)

    def _write(self, now: float) -> None:
        """Writes the file of the lake's id over itself, seldom while that succeeds. A lake without one is not written.

        So no object comes or goes, and an empty folder in the place of a disk that is not mounted stays empty.
        """
        if not self._writes or 0 <= now - self._written < WRITES:
            return
        store = self._lake.store()
        if there := store.read_tagged(LAKE_FILE):
            with suppress(Conflict):  # another web server has written it at this moment
                store.put_if(LAKE_FILE, *there)
        self._written = now


def _answers(entry: Any) -> bool:
    """Whether a code location is loaded, and its server answers; code in this process always does."""
    if entry.code_location is None:
        return False
    client = getattr(entry.code_location, "client", None)
    if client is None:
        return True
    try:
        return bool(client.ping("gristmill")["echo"] == "gristmill")
    except Exception:  # noqa: BLE001 - Dagster raises errors of its own and of gRPC
        return False


def _posted(cursor: str | None) -> Sequence[float]:
    """When the alerts in the cursor of the sensor `alerts` were posted."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return [float(when) for when, _ in json.loads(without_news(cursor))["posted"].values()]
    return []


def _failing(cursor: str | None) -> list[str]:
    """What a sensor of many parts, such as sources, could not look at in its last ticks, by its cursor."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        failed = json.loads(without_news(cursor))["failed"]
        return [str(part) for part, times in failed.items() if int(times) >= FAILURES]
    return []


def _since(when: float, now: float) -> int:
    return max(0, round(now - when))
