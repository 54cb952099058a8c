"""The raw-arrival sensor: it reports the snapshots under `raw/` as partitions, and their changes as events."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.support.arrivals import Compare, arrivals_name, forget, report, reported
from assets.support.keys import snapshots_of
from assets.support.lake_identity import UNSHOWN, is_shown
from gristmill.environment import INTERVAL
from gristmill.errors import visible
from gristmill.lake.address import raw_asset
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.changes import RawChanges, find_changes
from gristmill.raw_data.inventory import Inventory
from gristmill.raw_data.remarks import not_read
from gristmill.raw_data.roots import open_raw, reach
from gristmill.raw_data.scan import EMPTY, RawScan, Seen, raw_top, shown
from gristmill.raw_data.watch import Watch, dump_watch, load_watch
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from resources.lake import LakeResource
from sensors.automation import automation_name
from sensors.ticks import Found, found

NAMED = 20
"""Number of snapshots that a message names; the others are counted."""
VOID = 3
"""Number of scans in a row that could not be resumed, after which the log has a warning."""
STILL = 300
"""Seconds without a heartbeat after which the daemon counts as stopped."""


def is_awake(instance: dg.DagsterInstance, automation: str) -> bool:
    """Whether an automation sensor would notice a report.

    The first tick of an automation sensor ignores everything that was reported before it. A change that is reported
    too early would never be followed. If no daemon runs, or the sensor is stopped, reports need not wait.
    """
    beat = instance.get_daemon_heartbeats().get("ASSET")
    if beat is None or time.time() - beat.timestamp > STILL:
        return True
    states = [state for state in instance.all_instigator_state() if state.name == automation]
    if not states:
        return False
    cursors = [getattr(state.instigator_data, "cursor", None) for state in states]
    return not any(state.is_running for state in states) or any(cursors)


Log = Callable[[str], None]


@dataclass(frozen=True)
class Pace:
    """The time limits of a tick.

    Attributes:
        listing: longest time of its listing in seconds; the next tick continues.
        reporting: seconds after its start from which reports are left to the next tick. It must be less than Dagster's
            limit for a tick (DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS, by default 60).
        now: the clock of the sensor, in seconds.
    """

    listing: float = 30.0
    reporting: float = 45.0
    now: Callable[[], float] = time.time


def raw_arrival_sensor(
    source: Source, below: Sequence[str], pace: Pace | None = None, interval: int = INTERVAL
) -> dg.SensorDefinition:
    """The sensor of one source.

    Args:
        source: the recipe.
        below: addresses of all assets whose partitions are its snapshots.
        pace: time limits of a tick.
        interval: seconds between two ticks.
    """

    @dg.sensor(  # type: ignore[arg-type]  # Dagster takes a list of any of its results
        name=arrivals_name(source),
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Watches the raw snapshots of {source.name}. A green tick found news, though it requests no run:"
        " the column Cursor begins with what is new, changed or gone, and so does the tick's log.",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason | Found:
        if not is_awake(context.instance, automation_name(source)):
            return dg.SkipReason("waits for the first tick of the source's automation")
        if not is_shown(context.instance, lake.store()):
            return dg.SkipReason(UNSHOWN)
        return _tick(context, lake, source, below, pace or Pace())

    return watch


def _tick(
    context: dg.SensorEvaluationContext, lake: LakeResource, source: Source, below: Sequence[str], pace: Pace
) -> dg.SkipReason | Found:
    """Runs one tick. An error leaves the cursor as it was, so nothing is decided."""
    began = time.monotonic()
    lister = _lister(source, lake)
    now, read = (lister.now, lister.manifest) if isinstance(lister, Inventory) else (pace.now, "")

    def warn(words: str) -> None:
        """`context.log` is looked at only now: its first look makes a file, which Dagster keeps."""
        context.log.warning(visible(words))  # they may have names of the data

    mind = load_watch(context.cursor, source, lister, warn)
    if read and read == mind.read and not mind.due:
        return dg.SkipReason(f"nothing new; waits for an inventory after {read}")
    messages: list[str] = []
    forgotten: list[str] = []

    def late() -> bool:
        return time.monotonic() - began > pace.reporting

    if not mind.due:
        scan = mind.look(source, lister, now, lambda: time.monotonic() - began > pace.listing)
        if scan is None:
            messages += _broken_off(source, mind, warn)
        else:
            mind.read = read
            known = reported(context.instance, source.name)
            messages += _decide(source, mind, scan, known, now(), warn)
            keys = set(context.instance.get_dynamic_partitions(snapshots_of(source.name).name or ""))
            forgotten += _restore(context.instance, source, scan, known, keys | mind.due.keys())
            forgotten += _forget(context.instance, source, lake.store(), below, scan, known, keys, late)
            if not isinstance(lister, Inventory):
                mind.look_again(source, lake.store(), lister, scan, known, late)
    done = report(context.instance, source, mind.due, late, _compare(source, lake, lister))
    remaining = f"{len(mind.due)} more are reported at the next tick" if mind.due else ""
    nothing = "" if mind.under_way or forgotten else "nothing new"
    words = visible("; ".join(each for each in [_told(done) or nothing, *forgotten, remaining, *messages] if each))
    mind.said = ""
    if not done and not forgotten:
        context.update_cursor(dump_watch(mind))
        return dg.SkipReason(words)
    told = [*(f"{snapshot} {what}" for snapshot, what in done.items()), *forgotten]
    mind.said = f"{'; '.join(told[:NAMED])}{f'; and {len(told) - NAMED} more' if len(told) > NAMED else ''}"
    context.update_cursor(dump_watch(mind))
    for line in (words, *told[:NAMED]):
        context.log.info(line)
    return found()


def _compare(source: Source, lake: LakeResource, lister: Store | Inventory) -> Compare:
    """Tells which objects of a snapshot have changed. With an inventory nobody does: that would be a LIST again."""

    def compare(snapshot: str, seen: Seen) -> RawChanges | None:
        return None if isinstance(lister, Inventory) else find_changes(source, lake.store(), lister, snapshot, seen)

    return compare


def _lister(source: Source, lake: LakeResource) -> Store | Inventory:
    """The store of the raw objects, or its newest inventory if the source names one."""
    options = lake.lake().options
    raw = open_raw(source, lake.store(), options)
    return Inventory(source.inventory, raw.url, *reach(source, options)) if source.inventory else raw


def _told(reported: Iterable[str]) -> str:
    """The names of the reported snapshots, at most NAMED of them."""
    names = _names(list(reported))
    return f"{names} reported" if names else ""


def _names(snapshots: Sequence[str]) -> str:
    """At most NAMED names; the others are counted."""
    more = f" and {len(snapshots) - NAMED} more" if len(snapshots) > NAMED else ""
    return f"{', '.join(snapshots[:NAMED])}{more}"


def _broken_off(source: Source, mind: Watch, warn: Log) -> Iterator[str]:
    """Messages about a scan that continues at the next tick."""
    scan = mind.under_way
    objects = sum(seen.objects for seen in scan.seen.values()) if scan else 0
    yield f"a scan is under way: {objects} objects so far; nothing is decided before it is complete"
    if mind.void:
        yield f"restarted {mind.void} times: the store did not continue where the last tick stopped"
    if mind.void >= VOID:
        warn(
            f"{raw_asset(source.name)}: {mind.void} scans in a row could not be resumed, so none was completed:"
            " objects come and go at that place, or the server's StartAfter is wrong if an object has the name of a"
            " folder; until a scan is completed, no new data are noticed"
        )


def _decide(
    source: Source, mind: Watch, scan: RawScan, known: Mapping[str, str], now: float, warn: Log
) -> Iterator[str]:
    """Messages about a complete scan. The snapshots that must be reported are added to `mind.due`."""
    asset = raw_asset(source.name)
    gone = mind.settle(source, scan, known, now)
    for name, problem in [*scan.invalid.items(), *itertools.islice(scan.held.items(), NAMED)]:
        warn(f"{asset}/{name} is skipped: {problem}")
    if scan.hidden:
        warn(f"{asset}: nothing counts as vanished, because snapshots may be hidden: {scan.hidden}")
    for snapshot in gone[:NAMED]:
        result = "what was made from it becomes empty" if snapshot in mind.due else "to be confirmed"
        warn(f"{asset}/{snapshot} has vanished: {result}")
    if gone and not any(seen.objects for seen in scan.seen.values()):
        warn(f"{asset} has no objects left: is a disk not mounted, or a prefix mistyped?")
    open_ = [key for key, seen in scan.seen.items() if source.marker and seen.objects and not seen.marked]
    for count, description, first in (
        (len(open_), f"snapshots that wait for their {source.marker}", next(iter(open_), "")),
        (len(mind.waiting), "snapshots that wait until they stay the same", next(iter(mind.waiting), "")),
        (len(scan.held), "snapshots that cannot be converted as they are", next(iter(scan.held), "")),
        (scan.astray, "objects without a valid snapshot name", ""),  # the warnings above name them
    ):
        if count:
            such = f" ({'such as ' if count > 1 else ''}{first})" if first else ""
            yield f"{description}: {count:,}{such}"
    yield from not_read(source, scan, shown(source, raw_top(source)))


def _forget(
    instance: dg.DagsterInstance,
    source: Source,
    lake: Store,
    below: Sequence[str],
    scan: RawScan,
    known: Mapping[str, str],
    keys: set[str],
    late: Callable[[], bool],
) -> list[str]:
    """Removes the keys of snapshots of which nothing is there: neither raw data nor anything made from them.

    They have vanished; or a person has added the key.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        lake: the lake.
        below: addresses of all assets whose partitions are the source's snapshots.
        scan: a complete scan.
        known: the last reported data version of each snapshot.
        keys: all keys, read after `known`.
        late: whether time is up; the next tick continues.

    Returns:
        Messages about them.
    """
    if scan.hidden:
        return []
    present = _present(scan)
    vanished = {key: version for key, version in known.items() if key not in present}
    gone = forget(instance, source, lake, below, vanished, late)
    words = [f"{_names(gone)} vanished, and nothing made from it is left: its key was removed"] if gone else []
    strays = keys - present - known.keys()
    if strays:  # another process may have reported one since the scan
        strays -= reported(instance, source.name, sorted(strays)).keys()
    removed = forget(instance, source, lake, below, dict.fromkeys(strays, EMPTY), late)
    return [*words, f"{_names(removed)} never had raw data: its key was removed"] if removed else words


def _restore(
    instance: dg.DagsterInstance, source: Source, scan: RawScan, known: Mapping[str, str], keys: set[str]
) -> list[str]:
    """Adds the keys of reported snapshots that are there, but have no key: a person has deleted it in the UI.

    Without its key, a snapshot is in no run and on no page, and it is not reported again before its raw data change.

    Returns:
        Messages about them.
    """
    lost = sorted(key for key in _present(scan) - keys if known.get(key, EMPTY) != EMPTY)
    if not lost:
        return []
    instance.add_dynamic_partitions(snapshots_of(source.name).name or "", lost)
    return [f"{_names(lost)} had no key though its raw data are there: its key was added"]


def _present(scan: RawScan) -> set[str]:
    """The snapshots that have objects."""
    return {key for key, seen in scan.seen.items() if seen.objects} | scan.held.keys()


def raw_arrival_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.SensorDefinition]:
    """The sensors of all watched sources.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks of a sensor.
    """
    below: dict[str, list[str]] = {}
    for address, source in catalogue.slices():
        below.setdefault(source, []).append(address)
    watched = [source for source in catalogue.sources.values() if source.watched]
    return [raw_arrival_sensor(source, below[source.name], interval=interval) for source in watched]
