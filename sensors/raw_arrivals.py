"""The raw-arrival sensor: it looks at the raw snapshots of all sources, one source after another."""

import time
from collections.abc import Mapping, Sequence

import dagster as dg
import msgspec

from assets.support.arrivals import ARRIVALS
from assets.support.lake_identity import UNSHOWN, is_shown
from gristmill.environment import INTERVAL
from gristmill.errors import escape_controls, shorten
from gristmill.lake.address import raw_asset
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from resources.lake import LakeResource
from resources.pages.news import with_news
from sensors.automation import awake_units
from sensors.raw_looks import NAMED, Log, Looked, Pace, look_at
from sensors.ticks import Found, read_memory, success_result, tick_warner

NOTHING = "nothing new"
"""What a look says that has found nothing."""


class ArrivalMemory(msgspec.Struct, omit_defaults=True):
    """The cursor.

    Attributes:
        first: the source at which the next tick begins; empty: the first.
        failed: number of looks in a row that failed, by source; sources without failures are left out.
        sources: the cursor of each source.
    """

    first: str = ""
    failed: dict[str, int] = {}
    sources: dict[str, str] = {}


def raw_arrival_sensor(
    sources: Sequence[Source], below: Mapping[str, Sequence[str]], pace: Pace | None = None, interval: int = INTERVAL
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        sources: the recipes.
        below: addresses of all assets whose partitions are a source's snapshots, by source.
        pace: time limits of a tick.
        interval: seconds between two ticks.
    """
    paced = pace or Pace()

    @dg.sensor(  # type: ignore[arg-type]  # Dagster takes a list of any of its results
        name=ARRIVALS,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Watches the raw snapshots of all sources. A green tick found news, though it requests no run:"
        " the column Cursor begins with what is new, changed or gone, and so does the tick's log.",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason | Found:
        began = time.monotonic()
        if not is_shown(context.instance, lake.store()):
            return dg.SkipReason(UNSHOWN)
        warn = tick_warner(context)
        memory, awake = read_memory(ArrivalMemory, context.cursor, ARRIVALS, warn), awake_units(context.instance)
        looked, wrong, waiting = _look_around(context.instance, lake, sources, below, memory, awake, warn, paced, began)
        if wrong and not looked:
            raise next(iter(wrong.values()))
        return _result(context, memory, looked, wrong, waiting)

    return watch


def _look_around(
    instance: dg.DagsterInstance,
    lake: LakeResource,
    sources: Sequence[Source],
    below: Mapping[str, Sequence[str]],
    memory: ArrivalMemory,
    awake: frozenset[str] | None,
    warn: Log,
    pace: Pace,
    began: float,
) -> tuple[dict[str, Looked], dict[str, Exception], list[str]]:
    """Looks at one source after another, until time is up.

    Returns:
        (looked, wrong, waiting): what was found, by source; why others could not be looked at; and those of which the
        automation would not notice a report yet.
    """
    looked: dict[str, Looked] = {}
    wrong: dict[str, Exception] = {}
    waiting: list[str] = []
    order, memory.first = _from(sources, memory.first), ""
    for source in order:
        name = source.name
        if awake is not None and name not in awake:
            waiting.append(name)
            continue
        if (looked or wrong) and time.monotonic() - began > pace.listing:
            memory.first = name
            break
        cursor = memory.sources.get(name)
        try:
            looked[name] = look_at(instance, lake, source, below.get(name, ()), cursor, warn, pace, began)
        except Exception as error:  # noqa: BLE001 - one source must not hold back the others
            wrong[name] = error
            memory.failed[name] = memory.failed.get(name, 0) + 1
            continue
        memory.sources[name] = looked[name].cursor
        memory.failed.pop(name, None)
    return looked, wrong, waiting


def _from(sources: Sequence[Source], first: str) -> list[Source]:
    """The sources, beginning with one of them."""
    at = next((number for number, source in enumerate(sources) if source.name == first), 0)
    return [*sources[at:], *sources[:at]]


def _result(
    context: dg.SensorEvaluationContext,
    memory: ArrivalMemory,
    looked: Mapping[str, Looked],
    wrong: Mapping[str, Exception],
    waiting: Sequence[str],
) -> dg.SkipReason | Found:
    news = {name: each for name, each in looked.items() if each.told}
    said = "; ".join(f"{name}: {'; '.join(each.told)}" for name, each in [*news.items()][:NAMED]) or NOTHING
    lines = [
        f"{raw_asset(name)}: not looked at: {escape_controls(shorten(str(error), 500))}"
        for name, error in wrong.items()
    ]
    for line in lines:
        context.log.error(line)
    words = [f"{name}: {each.words}" for name, each in looked.items() if each.told or each.words != NOTHING]
    if waiting:
        words.append(f"{_some(waiting)}: waits for the first tick of the automation")
    told = "; ".join([*lines[:NAMED], *words[:NAMED]]) or NOTHING
    context.update_cursor(with_news(said, msgspec.json.encode(memory).decode()))
    if not news:
        return dg.SkipReason(told)
    for name, each in [*news.items()][:NAMED]:
        context.log.info(f"{name}: {each.words}")
        for line in each.told:
            context.log.info(f"{name}: {line}")
    return success_result()


def _some(names: Sequence[str]) -> str:
    """At most three names; the others are counted."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def raw_arrival_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.SensorDefinition]:
    """The sensor of all watched sources, in a list; empty if none is watched.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks of a sensor.
    """
    below: dict[str, list[str]] = {}
    for address, source in catalogue.partitioned_assets():
        below.setdefault(source, []).append(address)
    watched = [source for source in catalogue.sources.values() if source.watched]
    return [raw_arrival_sensor(watched, below, interval=interval)] if watched else []
