"""A look at the raw snapshots of a source: they become partitions, and their changes events."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import dagster as dg

from assets.support.arrivals import Compare, forget_vanished, report, reported_versions
from assets.support.keys import snapshots_of
from gristmill.errors import escape_controls
from gristmill.lake.address import raw_asset
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.changes import RawChanges, find_changes
from gristmill.raw_data.inventory import Inventory
from gristmill.raw_data.remarks import unread_file_remarks
from gristmill.raw_data.roots import open_raw, raw_access
from gristmill.raw_data.scan import EMPTY, RawScan, Seen, raw_top, show_path
from gristmill.raw_data.watch import Watch, dump_watch, load_watch
from gristmill.recipes.source import Source
from resources.lake import LakeResource

NAMED = 20
"""Number of snapshots that a message names; the others are counted."""
VOID = 3
"""Number of scans in a row that could not be resumed, after which the log has a warning."""

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


class Looked(NamedTuple):
    """What a look has found.

    Attributes:
        cursor: cursor for the next look.
        words: short description of what was found.
        told: lines about what is new, changed or gone; empty: nothing is.
    """

    cursor: str
    words: str
    told: list[str]


def look_at(
    instance: dg.DagsterInstance,
    lake: LakeResource,
    source: Source,
    below: Sequence[str],
    cursor: str | None,
    warn: Log,
    pace: Pace,
    began: float,
) -> Looked:
    """The result of one look at a source; reports what is new. After an error, use the old cursor: nothing is decided.

    Args:
        instance: Dagster's instance.
        lake: the lake.
        source: the recipe.
        below: addresses of all assets whose partitions are its snapshots.
        cursor: cursor of the look before.
        warn: function that takes what a person should know; names of the data are made visible before.
        pace: time limits.
        began: time when the tick began, by `time.monotonic`.

    Raises:
        GristmillError: the listing failed, or something that it reads is damaged.
    """
    lister = _lister(source, lake)
    now, read = (lister.now, lister.manifest) if isinstance(lister, Inventory) else (pace.now, "")
    mind = load_watch(cursor, source, lister, warn).reading(read)
    if read and read == mind.read and not mind.due:
        return Looked(cursor or "", f"nothing new; waits for an inventory after {read}", [])
    messages, forgotten = list[str](), list[str]()

    def late() -> bool:
        return time.monotonic() - began > pace.reporting

    if not mind.due:
        scan = mind.look(source, lister, now, lambda: time.monotonic() - began > pace.listing)
        if scan is None:
            messages += _broken_off(source, mind, warn)
        else:
            mind.read = read
            known = reported_versions(instance, source.name)
            messages += _decide(source, mind, scan, known, now(), warn)
            keys = set(instance.get_dynamic_partitions(snapshots_of(source.name).name or ""))
            forgotten += _restore(instance, source, scan, known, keys | mind.due.keys())
            forgotten += _forget(instance, source, lake.store(), below, scan, known, keys, late)
            if not isinstance(lister, Inventory):
                mind.look_again(source, lake.store(), lister, scan, known, late)
    return _looked(mind, report(instance, source, mind.due, late, _compare(source, lake, lister)), forgotten, messages)


def _looked(mind: Watch, done: Mapping[str, str], forgotten: Sequence[str], messages: Sequence[str]) -> Looked:
    """What a look has found, in words."""
    remaining = f"{len(mind.due)} more are reported at the next tick" if mind.due else ""
    nothing = "" if mind.under_way or forgotten else "nothing new"
    words = escape_controls(
        "; ".join(each for each in [_told(done) or nothing, *forgotten, remaining, *messages] if each)
    )
    told = [*(f"{snapshot} {what}" for snapshot, what in done.items()), *forgotten]
    more = [f"and {len(told) - NAMED} more"] if len(told) > NAMED else []
    return Looked(dump_watch(mind), words, [*told[:NAMED], *more])


def _compare(source: Source, lake: LakeResource, lister: Store | Inventory) -> Compare:
    """Tells which objects of a snapshot have changed. With an inventory nobody does: that would be a LIST again."""

    def compare(snapshot: str, seen: Seen) -> RawChanges | None:
        return None if isinstance(lister, Inventory) else find_changes(source, lake.store(), lister, snapshot, seen)

    return compare


def _lister(source: Source, lake: LakeResource) -> Store | Inventory:
    """The store of the raw objects, or its newest inventory if the source names one."""
    options = lake.lake().options
    raw = open_raw(source, lake.store(), options)
    return Inventory(source.inventory, raw.url, *raw_access(source, options)) if source.inventory else raw


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
    gone = mind.decide_reports(source, scan, known, now)
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
    yield from unread_file_remarks(source, scan, show_path(source, raw_top(source)))


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
    gone = forget_vanished(instance, source, lake, below, vanished, late)
    words = [f"{_names(gone)} vanished, and nothing made from it is left: its key was removed"] if gone else []
    strays = keys - present - known.keys()
    if strays:  # another process may have reported one since the scan
        strays -= reported_versions(instance, source.name, sorted(strays)).keys()
    removed = forget_vanished(instance, source, lake, below, dict.fromkeys(strays, EMPTY), late)
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
