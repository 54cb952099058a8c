"""The raw-arrival sensor: what lies under `raw/` becomes partitions, and events where a snapshot changed."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.support.arrivals import forget, report, reported
from assets.support.lake_identity import UNSHOWN, is_shown
from gristmill.environment import INTERVAL
from gristmill.lake.address import raw_asset
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Lister, Store
from gristmill.raw_data.inventory import Inventory
from gristmill.raw_data.scan import RawPass, Seen
from gristmill.raw_data.watch import Watch, dump_watch, load_watch
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from resources.lake import LakeResource
from sensors.automation import automation_name

NAMED = 20
"""Snapshots that are named in what is said; the rest is counted."""
VOID = 3
"""Passes in a row that could not be gone on with, after which the log says so."""
STILL = 300
"""Seconds without a heartbeat after which no daemon is taken to run."""


def is_awake(instance: dg.DagsterInstance, automation: str) -> bool:
    """Whether an automation sensor would notice a report.

    The very first tick of an automation sensor takes whatever lies behind it for known: a change that is reported
    before it would never be followed. Where no daemon runs, or the sensor is switched off, nothing
    is waited for.
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
    """How long a tick may take.

    Attributes:
        listing: seconds that it lists at the most; the next goes on.
        reporting: seconds after its beginning from which it leaves reports to the next: less than what Dagster gives
            a tick (DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS, by default 60).
        now: the sensor's own clock.
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
        below: addresses of all assets that have its snapshots.
        pace: how long a tick may take.
        interval: seconds between two ticks.
    """

    @dg.sensor(
        name=f"{source.name.replace('-', '_')}_raw_arrivals",
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Watches the raw snapshots of {source.name}",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason:
        if not is_awake(context.instance, automation_name(source)):
            return dg.SkipReason("waits for the first tick of the source's automation")
        if not is_shown(context.instance, lake.store()):
            return dg.SkipReason(UNSHOWN)
        return dg.SkipReason(_tick(context, lake, source, below, pace or Pace()))

    return watch


def _tick(
    context: dg.SensorEvaluationContext, lake: LakeResource, source: Source, below: Sequence[str], pace: Pace
) -> str:
    """What a tick found and reported, in words. An error leaves the cursor as it was: nothing was decided."""
    began = time.monotonic()
    held = _lister(source, lake)
    now, read = (held.now, held.manifest) if isinstance(held, Inventory) else (pace.now, "")
    mind = load_watch(context.cursor, source, held)
    if read and read == mind.read and not mind.due:
        return f"nothing new; waits for an inventory after {read}"
    said: list[str] = []
    if not mind.due:
        found = mind.look(source, held, now, lambda: time.monotonic() - began > pace.listing)
        if found is None:
            said += _broken_off(source, mind, context.log.warning)
        else:
            mind.read = read
            said += _decide(context.instance, source, mind, found, now(), context.log.warning)
            said += _forget(context.instance, source, lake.store(), below, found)
    done = report(context.instance, source, mind.due, lambda: time.monotonic() - began > pace.reporting)
    context.update_cursor(dump_watch(mind))
    left = f"{len(mind.due)} more are reported at the next tick" if mind.due else ""
    news = [] if mind.under_way else [_told(done) or "nothing new"]
    return "; ".join(words for words in [*news, left, *said] if words)


def _lister(source: Source, lake: LakeResource) -> Lister:
    """What holds the raw objects, or the newest inventory of it."""
    options = lake.lake().options
    if source.inventory:
        return Inventory(source.inventory, source.raw or lake.url, options)
    return open_store(source.raw, options) if source.raw else lake.store()


def _told(snapshots: Sequence[str]) -> str:
    """Which snapshots were reported; not all of a thousand by name."""
    more = f" and {len(snapshots) - NAMED} more" if len(snapshots) > NAMED else ""
    return f"{', '.join(snapshots[:NAMED])}{more} reported" if snapshots else ""


def _broken_off(source: Source, mind: Watch, warn: Log) -> Iterator[str]:
    """What is said of a pass that goes on at the next tick."""
    here = mind.under_way
    objects = sum(each.objects for each in here.seen.values()) if here else 0
    yield f"a pass is under way: {objects} objects so far; nothing is decided before it is whole"
    if mind.void:
        yield f"begun anew {mind.void} times: the store did not go on where the last tick stopped"
    if mind.void >= VOID:
        warn(
            f"{raw_asset(source.name)}: {mind.void} passes in a row could not be gone on with, so none became whole:"
            " objects come and go just there, or the server's StartAfter is wrong where an object has the name of a"
            " folder; until it ends, nothing that arrives is noticed"
        )


def _decide(
    instance: dg.DagsterInstance, source: Source, mind: Watch, found: RawPass, now: float, warn: Log
) -> Iterator[str]:
    """What is said of a whole pass; what it found ripe is due then."""
    asset = raw_asset(source.name)
    gone = mind.settle(source, found, reported(instance, source.name), now)
    for name, wrong in found.trouble.items():
        warn(f"{asset}/{name} is skipped: {wrong}")
    for snapshot in gone[:NAMED]:
        warn(f"{asset}/{snapshot} has vanished: {'its descendants go' if snapshot in mind.due else 'to be confirmed'}")
    if gone and not any(each.objects for each in found.seen.values()):
        warn(f"{asset} has no objects left at all: is a disk not mounted, or a prefix mistyped?")
    open_ = [key for key, each in found.seen.items() if source.marker and each.objects and not each.marked]
    for count, what in (
        (len(open_), f"snapshots that wait for their {source.marker}"),
        (len(mind.waiting), "snapshots that wait until they stay the same"),
        (found.astray, "objects that make no valid snapshot"),
        (found.loose, "objects in no snapshot"),
        (found.unread, "objects that the source does not read"),
    ):
        if count:
            yield f"{what}: {count}"


def _forget(
    instance: dg.DagsterInstance, source: Source, lake: Store, below: Sequence[str], found: RawPass
) -> list[str]:
    """What is said of vanished snapshots whose keys went."""
    there: dict[str, Seen] = {key: each for key, each in found.seen.items() if each.objects}
    known = {key: version for key, version in reported(instance, source.name).items() if key not in there}
    gone = forget(instance, source, lake, below, known)
    return [f"{', '.join(gone)} vanished, and nothing is left of it: its key went"] if gone else []


def raw_arrival_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.SensorDefinition]:
    """A sensor a watched source; so many seconds lie between two ticks of one."""
    below: dict[str, list[str]] = {}
    for address, source in catalogue.slices():
        below.setdefault(source, []).append(address)
    watched = [source for source in catalogue.sources.values() if source.watched]
    return [raw_arrival_sensor(source, below[source.name], interval=interval) for source in watched]
