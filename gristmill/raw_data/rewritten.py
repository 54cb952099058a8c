"""Raw objects that were rewritten with their size, time and inode kept. Only the ctime tells, and then the bytes.

The ctime is no part of a snapshot's data version: a backup, or other rights, would report every snapshot anew. So an
object whose ctime is not the one at which the documents' run read it is hashed. Only other bytes are reported.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

import msgspec
import xxhash

from gristmill.lake.address import documents_asset, place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.receipts import raw_stamps
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.scan import Seen
from gristmill.recipes.source import Source

GROUPS = 256
"""Groups of snapshots. A look remembers a number for each group, so its state stays small."""

LARGEST = 2 << 30
"""Size of an object in bytes, above which a tick has no time to hash it: it is reported, and the run looks at it."""


class Look(msgspec.Struct):
    """A look at the snapshots whose ctimes have changed since the last look. It can be interrupted at any object.

    Attributes:
        done: the sum of Seen.changes of the snapshots of each group, at its last complete look, by group.
        group: the group under way; empty without one.
        changes: its sum when it was begun; if it is another now, the group is begun again.
        snapshot: the snapshot under way.
        name: name of the last object that was compared.
        other: digest of the bytes of each object of the snapshot that has other bytes, by name.
    """

    done: dict[str, int] = {}
    group: str = ""
    changes: int = 0
    snapshot: str = ""
    name: str = ""
    other: dict[str, str] = {}

    def go_on(
        self, source: Source, lake: Store, raw: Store, seen: Mapping[str, Seen], late: Callable[[], bool]
    ) -> dict[str, Seen]:
        """Looks until all groups are done, or time is up; at least at one object or snapshot.

        Args:
            source: the recipe.
            lake: store of the notes of the runs that read the objects.
            raw: store of the raw objects.
            seen: the snapshots of a complete scan that have been reported as they are.
            late: whether time is up.

        Returns:
            The snapshots with objects that have other bytes, each with another version.
        """
        rewritten: dict[str, Seen] = {}
        for _ in self._look_in_steps(source, lake, raw, seen, rewritten):
            if late():
                break
        return rewritten

    def _look_in_steps(
        self, source: Source, lake: Store, raw: Store, seen: Mapping[str, Seen], rewritten: dict[str, Seen]
    ) -> Iterator[None]:
        """Looks, and adds to `rewritten`. It yields where it may be interrupted; its state is then that of the look."""
        groups: dict[str, list[str]] = {}
        for key in sorted(seen):
            groups.setdefault(str(xxhash.xxh3_64_intdigest(key.encode()) % GROUPS), []).append(key)
        self.done = {group: changes for group, changes in self.done.items() if group in groups}
        for group, keys in groups.items():
            changes = sum(seen[key].changes for key in keys)
            if self.done.get(group, 0) == changes:
                continue
            if (self.group, self.changes) != (group, changes):
                self.group, self.changes = group, changes
                self._begin_snapshot(keys[0])
            left = [key for key in keys if key >= self.snapshot]
            for key, following in zip_longest(left, left[1:]):
                yield from self._compare_remaining_objects(source, lake, raw)
                if self.other:
                    mark = digest_of(sorted(self.other.items()))[:16]
                    rewritten[key] = msgspec.structs.replace(seen[key], rewritten=mark)
                if following:
                    self._begin_snapshot(following)
                    yield
            self.done[group], self.group = changes, ""
            yield

    def _begin_snapshot(self, snapshot: str) -> None:
        self.snapshot, self.name, self.other = snapshot, "", {}

    def _compare_remaining_objects(self, source: Source, lake: Store, raw: Store) -> Iterator[None]:
        """Compares the remaining objects of the snapshot with what was read; yields after each that it has hashed."""
        read = raw_stamps(lake, place(documents_asset(source.name, source.versions[0]), self.snapshot))
        if not any(version.changed for version in read.values()):
            return  # never made, or by Gristmill 0.1, which recorded no ctimes
        listing = list_raw(source, raw, self.snapshot)
        for name, entry in listing.entries.items():
            version = read.get(name)
            if name <= self.name or version is None or version.etag != entry.etag or version.same(entry):
                continue
            found = listing.sha256(raw, name) if listing.size(name) <= LARGEST else f"changed at {entry.changed}"
            if found != version.sha256:
                self.other[name] = found
            self.name = name
            yield
