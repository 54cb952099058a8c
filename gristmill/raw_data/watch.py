"""A watch over a source's raw folder: what it keeps between its looks, and when a change is ripe to be reported."""

import json
from collections.abc import Callable, Mapping

import msgspec

from gristmill.lake.identity import digest_of
from gristmill.lake.store.protocol import Lister
from gristmill.raw_data.scan import EMPTY, RawPass, Seen, present
from gristmill.recipes.source import Source

ALL_GONE = 3600.0
"""Seconds for which a source must be seen without any object before its snapshots count as vanished.

That is what an unmounted disk or a mistyped prefix looks like too.
"""


class Waiting(msgspec.Struct):
    """A change that is not ripe: the digest, and when the first pass that saw it ended."""

    digest: int
    since: float


class Watch(msgspec.Struct):
    """All that is remembered from look to look. Losing it costs time, and reports nothing twice.

    Attributes:
        of: what is listed and how; another recipe or lake begins anew.
        under_way: the pass that was broken off.
        void: passes in a row that could not be gone on with.
        waiting: changes that are not ripe, by snapshot.
        due: changes that are to be reported.
        read: the inventory that the last whole pass was over; it is not read again.
    """

    of: str = ""
    under_way: RawPass | None = None
    void: int = 0
    waiting: dict[str, Waiting] = {}
    due: dict[str, Seen] = {}
    read: str = ""

    def look(self, source: Source, store: Lister, now: Callable[[], float], late: Callable[[], bool]) -> RawPass | None:
        """Begins a pass or goes on with one.

        Args:
            source: the recipe.
            store: the one that holds the raw objects, or its inventory.
            now: the watch's own clock, in seconds.
            late: whether the time for this look is over.

        Returns:
            The pass if it is whole now, else None: then nothing may be decided.

        Raises:
            StoreError: the listing failed; this watch must be thrown away, and the look repeated with the one before.
        """
        found = self.under_way or RawPass(started=now())
        self.under_way = None
        if not found.go_on(source, store, late):
            self.void += 1
            found = RawPass(started=now())
            found.go_on(source, store, late)
        if not found.whole:
            self.under_way = found
            return None
        self.void = 0
        return found

    def settle(self, source: Source, found: RawPass, known: Mapping[str, str], now: float) -> list[str]:
        """Decides, after a whole pass, what is due and what has to wait.

        A change waits until passes that span `source.quiet` seconds have seen it the same, from the end of the first
        to the beginning of the last, by the watch's own clock; if that is turned back, it waits anew. A vanished
        snapshot waits for a later pass, and for an hour where the source has nothing left.

        Args:
            source: the recipe.
            found: the pass.
            known: the data version reported last, by snapshot.
            now: the time.

        Returns:
            The snapshots that look as if they had vanished, ripe or not.
        """
        changed = {key: each for key, each in present(source, found).items() if known.get(key) != each.version}
        there = {key for key, each in found.seen.items() if each.objects}
        gone = sorted(key for key, version in known.items() if version != EMPTY and key not in there)
        quiet = source.quiet if there else max(source.quiet, ALL_GONE)
        before, self.waiting = self.waiting, {}
        for key, each in {**changed, **{key: Seen() for key in gone}}.items():
            old = before.get(key)
            if old is not None and old.digest == each.digest and old.since <= found.started:
                waited = found.started - old.since
                since, ripe = old.since, waited >= quiet and (each.objects > 0 or waited > 0)
            else:
                since, ripe = now, each.objects > 0 and quiet == 0
            if ripe:
                self.due[key] = each
            else:
                self.waiting[key] = Waiting(each.digest, since)
        return gone


def dump_watch(watch: Watch) -> str:
    """As JSON. Python's own: digests have 128 bits, and names in a folder may be no UTF-8."""
    return json.dumps(msgspec.to_builtins(watch), separators=(",", ":"))


def load_watch(text: str | None, source: Source, store: Lister) -> Watch:
    """A watch as it was left; a new one where it was lost, cannot be read, or is of another recipe or lake."""
    parts = [store.url, source.raw, repr(source.partition), source.select, source.marker, source.inventory]
    new = Watch(of=digest_of(parts)[:16])
    try:
        found = msgspec.convert(json.loads(text or "null"), Watch)
    except (ValueError, msgspec.ValidationError):
        return new
    return found if found.of == new.of else new
