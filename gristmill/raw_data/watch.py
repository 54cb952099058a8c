"""A watch on the raw folder of a source: its state between ticks, and the rule when a change is reported.

A change is not reported at once, because an upload may still be running.
"""

import json
from collections.abc import Callable, Mapping

import msgspec

from gristmill.errors import DataError, GristmillError, shorten
from gristmill.lake.address import check_snapshot, raw_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.store.protocol import Lister, Store
from gristmill.raw_data.rewritten import Look
from gristmill.raw_data.scan import EMPTY, RawScan, Seen, present_snapshots, raw_top
from gristmill.recipes.source import Source

ALL_GONE = 3600.0
"""Seconds for which a source must have no object at all before its snapshots count as vanished.

An unmounted disk or a mistyped prefix looks like an empty source too.
"""
ALL_GONE_SCANS = 20
"""Complete scans that must find so, besides: a clock may jump. The clock of an inventory is its report, and cannot."""


class Waiting(msgspec.Struct):
    """A change that is not reported yet.

    Attributes:
        digest: digest of the changed snapshot.
        since: time when the first scan that saw this digest ended.
        scans: number of complete scans in a row that saw it.
    """

    digest: int
    since: float
    scans: int = 1


class Watch(msgspec.Struct):
    """The state of a watch between ticks. If it is lost, reports are late, but none is made twice.

    Attributes:
        of: digest of the recipe's raw settings and the lake's URL; if it differs, the watch begins anew.
        under_way: the interrupted scan.
        listed: the inventory that it reads; empty: the store itself.
        void: consecutive scans that could not be resumed.
        waiting: changes that are not reported yet, by snapshot.
        due: changes to report, by snapshot.
        read: the inventory of the last complete scan; it is not read again.
        looked: the look at objects with another ctime.
    """

    of: str = ""
    under_way: RawScan | None = None
    listed: str = ""
    void: int = 0
    waiting: dict[str, Waiting] = {}
    due: dict[str, Seen] = {}
    read: str = ""
    looked: Look = msgspec.field(default_factory=Look)

    def reading(self, listed: str) -> "Watch":
        """Drops an interrupted scan of another inventory. The order of objects need not be that of this one.

        Args:
            listed: key of the inventory that is read now; empty: the store itself is listed.

        Returns:
            This watch.
        """
        if listed != self.listed:
            self.under_way, self.listed = None, listed
        return self

    def look(self, source: Source, store: Lister, now: Callable[[], float], late: Callable[[], bool]) -> RawScan | None:
        """Begins or resumes a scan.

        Args:
            source: the recipe.
            store: lists the raw objects: the store that holds them, or its inventory.
            now: the clock of the watch, in seconds.
            late: whether the time of this tick is up.

        Returns:
            The scan if it is complete now, else None; then no change may be decided.

        Raises:
            StoreError: the listing failed. Discard this watch, and look again with its previous state.
        """
        scan = self.under_way or RawScan(started=now())
        self.under_way = None
        if not scan.go_on(source, store, late):
            self.void += 1
            scan = RawScan(started=now())
            scan.go_on(source, store, late)
        if not scan.whole:
            self.under_way = scan
            return None
        self.void = 0
        return scan

    def look_again(
        self,
        source: Source,
        lake: Store,
        raw: Store,
        found: RawScan,
        known: Mapping[str, str],
        late: Callable[[], bool],
    ) -> None:
        """Looks for rewritten objects in the snapshots that are as they were reported; those that have some are due.

        Args:
            source: the recipe.
            lake: the lake.
            raw: store of the raw objects.
            found: a complete scan.
            known: the last reported data version of each snapshot.
            late: whether time is up; the next call continues.
        """
        same = {key: seen for key, seen in present_snapshots(source, found).items() if seen.is_version(known.get(key))}
        rewritten = self.looked.go_on(source, lake, raw, same, late)
        self.due.update({key: seen for key, seen in rewritten.items() if seen.version != known.get(key)})

    def decide_reports(self, source: Source, found: RawScan, known: Mapping[str, str], now: float) -> list[str]:
        """Decides after a complete scan which changes to report, and which have to wait.

        A change must stay the same for `source.quiet` seconds. They count from the end of the first scan that saw it to
        the beginning of the last, by the clock of the watch. If the clock is turned back, the change waits anew. A
        vanished snapshot needs a second scan. If all have vanished, it needs an hour, and `ALL_GONE_SCANS` scans.
        Nothing has vanished while something hides snapshots, such as a folder that cannot be read.

        Args:
            source: the recipe.
            found: the scan.
            known: the last reported data version of each snapshot.
            now: the time in seconds.

        Returns:
            The snapshots that seem to have vanished, whether reported now or not.
        """
        changed = {
            key: seen for key, seen in present_snapshots(source, found).items() if not seen.is_version(known.get(key))
        }
        nonempty = {key for key, seen in found.seen.items() if seen.objects} | found.held.keys()
        were = {key for key, version in known.items() if version != EMPTY}
        gone = [] if found.hidden else sorted(were - nonempty)
        quiet, scans = source.quiet, 2
        if were and len(gone) == len(were):
            quiet, scans = max(source.quiet, ALL_GONE), 2 if source.inventory else ALL_GONE_SCANS
        before, self.waiting = self.waiting, {}
        for key, seen in {**changed, **{key: Seen() for key in gone}}.items():
            old = before.get(key)
            wait = Waiting(seen.digest, now)
            if old is not None and old.digest == seen.digest and old.since <= found.started:
                wait = Waiting(seen.digest, old.since, old.scans + 1)
            waited = found.started - wait.since
            if seen.objects:
                ripe = source.quiet == 0 or (wait.scans > 1 and waited >= source.quiet)
            else:
                ripe = wait.scans >= scans and waited >= quiet and waited > 0
            if ripe:
                self.due[key] = seen
            else:
                self.waiting[key] = wait
        return gone


def dump_watch(watch: Watch) -> str:
    """The watch as JSON. Only Python's encoder fits: digests have 128 bits, and file names may not be valid UTF-8."""
    return json.dumps(msgspec.to_builtins(watch), separators=(",", ":"))


def load_watch(text: str | None, source: Source, store: Lister, say: Callable[[str], object] = str) -> Watch:
    """The watch of a text; a new one if the text is missing, cannot be read, or is of another recipe or lake.

    Args:
        text: result of dump_watch, or None.
        source: the recipe.
        store: lists the raw objects.
        say: function that receives a line if the text cannot be read.
    """
    parts = [store.url, source.raw_url, repr(source.partition), source.select, source.marker, source.inventory]
    new = Watch(of=digest_of(parts)[:16])
    try:
        stored = msgspec.convert(json.loads(text or "null"), Watch) if text else new
        if stored.of != new.of:
            return new
        _check_shard_names(stored, source)
    except (ValueError, RecursionError, msgspec.ValidationError, GristmillError) as error:
        say(
            f"{raw_asset(source.name)}: the sensor's cursor cannot be read, and is dropped ({shorten(str(error), 200)})"
        )
        return new
    return stored


def _check_shard_names(stored: Watch, source: Source) -> None:
    """Checks names that a later step would refuse: then each tick would fail until a person removes the cursor.

    Raises:
        GristmillError: a name is not valid.
    """
    for snapshot in stored.due:
        check_snapshot(snapshot)
    scan = stored.under_way
    if scan is not None and scan.position and not scan.position.startswith(raw_top(source)):
        raise DataError(f"{scan.position!r} is not below {raw_top(source)}")
