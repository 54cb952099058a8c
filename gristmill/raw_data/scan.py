"""A pass over the raw objects of a source: one listing, from which each snapshot keeps three numbers.

A snapshot's digest is a sum over its objects, so it does not depend on the order in which a store lists them, needs
no memory of them, and can be gone on with at any object: a pass that is broken off is a small piece of JSON.
"""

import itertools
from collections.abc import Callable, Iterator

import msgspec
import xxhash

from gristmill.errors import RecipeError
from gristmill.lake.address import raw_asset, raw_folder, snapshot_trouble
from gristmill.lake.store.protocol import Entry, Lister
from gristmill.recipes.source import Source

TOLD = 20
"""Names that make no snapshot are told up to this number; the rest is counted."""

MOST = 100_000
"""Snapshots of a source: more than Dagster can hold as partitions is a wrong partition rule."""

_MODULUS = 1 << 128


class Seen(msgspec.Struct):
    """What a pass has seen of a snapshot.

    Attributes:
        objects: those that the source reads.
        bytes: of them.
        digest: the sum, modulo 2**128, of XXH3-128 over each one's name, size and etag.
        marked: whether the source's marker lies in it.
    """

    objects: int = 0
    bytes: int = 0
    digest: int = 0
    marked: bool = False

    def add(self, name: str, entry: Entry) -> None:
        """One more object, by its name below the source's raw folder."""
        record = f"{name}\0{entry.size}\0{entry.etag}".encode("utf-8", "surrogateescape")
        self.objects += 1
        self.bytes += entry.size
        self.digest = (self.digest + xxhash.xxh3_128_intdigest(record)) % _MODULUS

    @property
    def version(self) -> str:
        """The digest as the raw asset's data version."""
        return f"{self.digest:032x}"


EMPTY = Seen().version
"""The data version of a snapshot without objects: it vanished."""


class RawPass(msgspec.Struct):
    """A pass, whole or broken off.

    Attributes:
        started: when, by the clock of whoever lists.
        seen: by snapshot.
        trouble: the first names that make no valid snapshot, and why.
        astray: objects below such names.
        unread: objects in snapshots that the source does not read.
        loose: objects in no snapshot.
        position: path of the last object that was taken.
        ahead: path of the object that comes next; empty if the pass is whole or has not begun.
        whole: whether nothing comes any more.
    """

    started: float = 0.0
    seen: dict[str, Seen] = {}
    trouble: dict[str, str] = {}
    astray: int = 0
    unread: int = 0
    loose: int = 0
    position: str = ""
    ahead: str = ""
    whole: bool = False

    def go_on(self, source: Source, store: Lister, late: Callable[[], bool]) -> bool:
        """Takes objects until there are no more, or until it is late: at least one each time.

        Returns:
            False if the store does not go on where the pass was broken off: nothing was taken, and this pass is void.

        Raises:
            StoreError: the listing failed; this pass must not be gone on with.
            RecipeError: the partition rule makes a snapshot of almost every object.
        """
        listing = store.list(raw_top(source), self.position)
        if self.position:
            first = next(listing, None)
            if first is None or first.path != self.ahead:
                return False
            listing = itertools.chain([first], listing)
        self._take(source, listing, late)
        return True

    def _take(self, source: Source, listing: Iterator[Entry], late: Callable[[], bool]) -> None:
        top, took = len(raw_top(source)), False
        split = source.partition.split
        for entry in listing:
            if took and late():
                self.ahead = entry.path
                return
            took = True
            name = entry.path[top:]
            found = split(name)
            if found is None:
                self.loose += 1
            else:
                self._count(source, found[0], name, entry)
            self.position = entry.path
        self.ahead, self.whole = "", True

    def _count(self, source: Source, snapshot: str, name: str, entry: Entry) -> None:
        here = self.seen.get(snapshot)
        if here is None:
            wrong = snapshot_trouble(snapshot)
            if wrong:
                self.astray += 1
                if len(self.trouble) < TOLD:
                    self.trouble[snapshot] = wrong
                return
            here = self._new(source, snapshot)
        below = name.removeprefix(source.partition.prefix(snapshot))
        if source.wants(below):
            here.add(name, entry)
        elif source.is_marker(below):
            here.marked = True
        else:
            self.unread += 1

    def _new(self, source: Source, snapshot: str) -> Seen:
        if len(self.seen) >= MOST:
            raise RecipeError(
                f"{raw_asset(source.name)}: more than {MOST:,} snapshots; a snapshot holds many objects:"
                " let the recipe's partition rule make fewer"
            )
        self.seen[snapshot] = Seen()
        return self.seen[snapshot]


def raw_top(source: Source) -> str:
    """The folder of a source's raw objects in the store that holds them."""
    return "" if source.raw else raw_folder(source.name)


def pass_over(source: Source, store: Lister) -> RawPass:
    """A whole pass, at once.

    Raises:
        StoreError: the listing failed.
    """
    found = RawPass()
    found.go_on(source, store, lambda: False)
    return found


def present(source: Source, found: RawPass) -> dict[str, Seen]:
    """The snapshots of a whole pass that count: with objects, and with the marker if the source wants one."""
    return {
        key: each for key, each in sorted(found.seen.items()) if each.objects and (each.marked or not source.marker)
    }
