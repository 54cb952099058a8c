"""A scan of the raw objects of a source: one listing, reduced to a few numbers for each snapshot.

The digest of a snapshot is a sum over its objects. So it does not depend on the order in which a store lists them, and
the scan remembers no objects. It can be interrupted and resumed at any object: its state is a small piece of JSON.
"""

import itertools
import re
from collections.abc import Callable, Iterator

import msgspec
import xxhash

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.address import raw_asset, raw_folder, why_no_snapshot
from gristmill.lake.store.plain_files import Tell, Unlisted
from gristmill.lake.store.protocol import Entry, Lister, NoFolder
from gristmill.raw_data.endings import count_ending
from gristmill.raw_data.left_links import without_left_links
from gristmill.raw_data.roots import raw_address
from gristmill.raw_data.shard_names import NameWatch, names_equal_on_disk, one_on_disk
from gristmill.recipes.raw_rules import check_readable, is_hidden
from gristmill.recipes.source import OneToOne, Source

NAMED = 20
"""Most invalid snapshot names that a scan records; it only counts the objects of the rest."""

MOST = 100_000
"""Most snapshots of a source. Dagster cannot hold more partitions; more mean that the partition rule is wrong."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MODULUS = 1 << 128


class Seen(msgspec.Struct):
    """The objects of a snapshot that a scan has seen, as numbers.

    Attributes:
        objects: number of objects that the source reads.
        bytes: their total size.
        digest: the sum, modulo 2**128, of the XXH3-128 of each object's name, size and etag.
        marked: whether the snapshot has the source's marker.
        changes: the sum, modulo 2**64, of the XXH3-64 of each object's name and ctime; 0 in a bucket.
        rewritten: digest of objects with other bytes, but the same size and etag (rewritten.py); else empty.
    """

    objects: int = 0
    bytes: int = 0
    digest: int = 0
    marked: bool = False
    changes: int = 0
    rewritten: str = ""

    def add(self, name: str, entry: Entry, *, data: bool = True) -> None:
        """Adds an object.

        Args:
            name: name of the object below the source's raw folder.
            entry: its size and etag.
            data: whether it is data; a checksum file only changes the digest.
        """
        record = f"{name}\0{entry.size}\0{entry.etag}".encode("utf-8", "surrogateescape")
        self.objects += data
        self.bytes += entry.size * data
        self.digest = (self.digest + xxhash.xxh3_128_intdigest(record)) % _MODULUS
        if entry.changed:
            change = f"{name}\0{entry.changed}".encode("utf-8", "surrogateescape")
            self.changes = (self.changes + xxhash.xxh3_64_intdigest(change)) % (1 << 64)

    @property
    def version(self) -> str:
        """The raw asset's data version: the digest, and after a plus sign what tells of rewritten objects."""
        return f"{self.digest:032x}+{self.rewritten}" if self.rewritten else f"{self.digest:032x}"

    def is_version(self, version: str | None) -> bool:
        """Whether a reported version is this one. A listing cannot tell whether objects were rewritten."""
        return version is not None and (version == self.version or version.partition("+")[0] == self.version)


class Unread(msgspec.Struct):
    """Objects that are not read, or not as people may think: how many, and the first of them.

    Attributes:
        count: number of the objects.
        first: name of the first.
    """

    count: int = 0
    first: str = ""

    def add(self, name: str) -> None:
        """Counts an object."""
        self.first = self.first or name
        self.count += 1


EMPTY = Seen().version
"""The data version of a snapshot without objects: one that has vanished."""


class RawScan(msgspec.Struct):
    """A scan, complete or interrupted.

    Attributes:
        started: time when it began, in seconds of the caller's clock.
        seen: the objects of each snapshot.
        invalid: the first names that are no snapshot's, and why: folders that are not hidden, and what is no file.
        held: snapshots that cannot be converted as they are, and the first reason: an object, its fault and the mend.
            They are neither reported nor taken for vanished.
        hidden: fault that may hide whole snapshots, such as a folder that cannot be read, and the mend; empty if
            nothing may.
        mounted: whether the source's mount marker was seen.
        names: finder of objects that cannot be shards side by side.
        astray: number of objects below invalid names.
        loose: number of objects that belong to no snapshot.
        apart: objects of no snapshot that are not hidden.
        dotted: objects that are not read because they are hidden.
        unmatched: number of objects of snapshots that `select` does not match, by ending; hidden ones do not count.
        control: objects that are read, though their names hold control characters.
        faulty: number of objects of each snapshot whose names no shard can have.
        position: path of the last object that was counted.
        ahead: path of the next object; empty if the scan is complete or has not begun.
        whole: whether the scan is complete.
    """

    started: float = 0.0
    seen: dict[str, Seen] = {}
    invalid: dict[str, str] = {}
    held: dict[str, str] = {}
    hidden: str = ""
    mounted: bool = False
    names: NameWatch = msgspec.field(default_factory=NameWatch)
    astray: int = 0
    loose: int = 0
    apart: Unread = msgspec.field(default_factory=Unread)
    dotted: Unread = msgspec.field(default_factory=Unread)
    unmatched: dict[str, int] = {}
    control: Unread = msgspec.field(default_factory=Unread)
    faulty: dict[str, int] = {}
    position: str = ""
    ahead: str = ""
    whole: bool = False

    def go_on(self, source: Source, store: Lister, late: Callable[[], bool]) -> bool:
        """Counts objects until the listing ends or time is up; at least one object per call.

        Args:
            source: the recipe.
            store: lists the raw objects.
            late: whether time is up.

        Returns:
            False if the store does not resume at the object where the scan was interrupted. Then nothing was counted,
            and this scan must be discarded.

        Raises:
            StoreError: the listing failed, or the source's mount marker is not there; this scan must not be resumed.
            RecipeError: the partition rule makes more than `MOST` snapshots.
        """
        listing = list_raw_objects(
            source, store, raw_top(source), self.position, lambda found: self._leave_out(source, found)
        )
        if self.position:
            first = next(listing, None)
            if first is None or first.path != self.ahead:
                return False
            listing = itertools.chain([first], listing)
        self._take_listing(source, listing, late)
        if self.whole and source.mounted and not self.mounted:
            raise not_mounted_error(source, store)
        return True

    def _take_listing(self, source: Source, listing: Iterator[Entry], late: Callable[[], bool]) -> None:
        top, took = len(raw_top(source)), False
        split = source.partition.split
        for entry in listing:
            if took and late():
                self.ahead = entry.path
                return
            took = True
            name = entry.path[top:]
            found = split(name)
            if name == source.mounted:
                self.mounted = True
            elif found is None:
                self.loose += 1
                (self.dotted if is_hidden(name) else self.apart).add(name)
            else:
                self._count_object(source, found[0], name, entry)
            self.position = entry.path
        self.ahead, self.whole = "", True
        for snapshot, count in self.faulty.items():
            if count > 1:
                self.held[snapshot] += f"; likewise {count - 1} more names in this snapshot"
        for snapshot, other in names_equal_on_disk(self.seen).items():
            self.held.setdefault(snapshot, one_on_disk(other, snapshot))

    def _count_object(self, source: Source, snapshot: str, name: str, entry: Entry) -> None:
        seen = self.seen.get(snapshot)
        if seen is None:
            wrong = why_no_snapshot(snapshot)
            if wrong:
                self.astray += 1
                if is_hidden(name):
                    self.dotted.add(name)
                self._reject_name(snapshot, f"{wrong}; rename it")
                return
            seen = self._new(source, snapshot)
        below = name.removeprefix(source.partition.prefix(snapshot))
        data = source.wants(below)
        if source.is_marker(below):
            seen.marked = True
        elif data or source.is_checksums(below):
            seen.add(name, entry, data=data)
            if data or not is_hidden(below):
                self._check_name(source, snapshot, name, below, data=data)
        else:
            self.dotted.add(name) if is_hidden(below) else count_ending(self.unmatched, below)

    def _check_name(self, source: Source, snapshot: str, name: str, below: str, *, data: bool) -> None:
        """Holds a snapshot back if an object cannot be read, cannot become a shard, or not beside another object."""
        try:
            shard = source.shards.shard(below) if data else check_readable(below)
        except DataError as error:
            if snapshot not in self.held or snapshot in self.faulty:
                self.faulty[snapshot] = self.faulty.get(snapshot, 0) + 1
            self.held.setdefault(snapshot, f"{name}: {error}")
            return
        if not name.isprintable() and _CONTROL.search(name):
            self.control.add(name)
        if data and isinstance(source.shards, OneToOne):
            start = name[: len(name) - len(below) + len(shard)]
            other = self.names.look(snapshot, shard, name, start)
            if other is not None:
                self.held.setdefault(snapshot, f"{other} and {name} cannot both be shards; rename one of them")

    def _leave_out(self, source: Source, found: Unlisted) -> None:
        """Records what is no object: its snapshot is held back, or any that may be hidden below it."""
        if f"{found.path}/" in {raw_top(source), "/"}:
            raise StoreError(f"{raw_address(source) or found.path}: {found.reason}")
        name = found.path.removeprefix(raw_top(source))
        split = source.partition.split(f"{name}/" if found.hides else name)
        words = f"{name}: {found.reason}"
        if split is None or why_no_snapshot(split[0]):
            self.hidden = self.hidden or words * found.hides
            self.loose += not found.hides
            if not found.hides:
                self._reject_name(name, found.reason)
            return
        below = name.removeprefix(source.partition.prefix(split[0]))
        if found.hides or source.wants(below):
            self.held.setdefault(split[0], words)
        else:
            self.dotted.add(name) if is_hidden(below) else count_ending(self.unmatched, below)

    def _reject_name(self, name: str, reason: str) -> None:
        """Records a name that is no snapshot's, unless it is hidden."""
        if len(self.invalid) < NAMED and not is_hidden(name):
            self.invalid[name] = reason

    def _new(self, source: Source, snapshot: str) -> Seen:
        if len(self.seen) >= MOST:
            raise RecipeError(
                f"{raw_asset(source.name)}: more than {MOST:,} snapshots; a snapshot holds many objects:"
                " change the recipe's partition rule so that it makes fewer"
            )
        self.seen[snapshot] = Seen()
        return self.seen[snapshot]


def raw_top(source: Source) -> str:
    """The folder of a source's raw objects in the store that holds them."""
    return "" if source.raw else raw_folder(source.name)


def show_path(source: Source, path: str) -> str:
    """A path for messages: below the lake; or with the address of the store that holds the source's raw data.

    Args:
        source: the recipe.
        path: path in the store that holds the raw data.
    """
    return f"{raw_address(source)}/{path}" if source.raw else path


def list_raw_objects(source: Source, store: Lister, prefix: str, after: str, tell: Tell) -> Iterator[Entry]:
    """The entries of raw objects.

    Args:
        source: the recipe.
        store: lists the raw objects.
        prefix: beginning of the paths, as in Store.list().
        after: path after which the listing begins, as in Store.list().
        tell: function that takes what cannot be an object, as in Store.list().

    Raises:
        NoFolder: the folder with the raw data is not there. StoreError: the listing failed.
    """
    try:
        yield from store.list(prefix, after, without_left_links(source, raw_top(source), tell))
    except NoFolder as error:
        if source.mounted:
            raise not_mounted_error(source, store) from error
        if source.raw:
            raise NoFolder(
                f"{store.url}: the folder with the raw data of source {source.name!r} is not there:"
                f" mount the disk with its raw data, put the folder back, or correct its raw={source.raw_url!r}"
            ) from error
        raise


def not_mounted_error(source: Source, store: Lister) -> StoreError:
    """The error for a source without its mount marker.

    Args:
        source: the source.
        store: store where its raw data should lie.
    """
    return StoreError(
        f"{store.url}/{raw_top(source)}{source.mounted}: the mount marker of source {source.name!r} is not there:"
        " mount the disk with its raw data, or put the file back"
    )


def scan_raw(source: Source, store: Lister) -> RawScan:
    """A complete scan in one call.

    Args:
        source: the recipe.
        store: lists the raw objects.

    Raises:
        StoreError: the listing failed, or the source's mount marker is not there.
    """
    scan = RawScan()
    scan.go_on(source, store, lambda: False)
    return scan


def present_snapshots(source: Source, found: RawScan) -> dict[str, Seen]:
    """The snapshots that exist: those with objects, and with the marker if the source requires one.

    Snapshots that are held back are left out.

    Args:
        source: the recipe.
        found: a complete scan.
    """
    return {
        key: seen
        for key, seen in sorted(found.seen.items())
        if seen.objects and (seen.marked or not source.marker) and key not in found.held
    }
