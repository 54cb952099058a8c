"""Lists the raw data of one snapshot: its objects, and the shard of each."""

from collections.abc import Iterable

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import SHARD_SUFFIX
from gristmill.lake.rows.raw_parts import RawPart, part_name, sha256_of_part
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.plain_files import NO_TARGET, Unlisted
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.scan import list_raw_objects, not_mounted_error, raw_top, show_path
from gristmill.raw_data.shard_names import name_clash
from gristmill.recipes.raw_rules import check_readable, is_hidden
from gristmill.recipes.source import OneToOne, Source, Split


class RawListing(msgspec.Struct, frozen=True):
    """The raw objects of one snapshot.

    Attributes:
        entries: entries by their names below the snapshot. A large object that its source cuts has an entry for each
            part, by the part's name; each is the entry of the object.
        parts: the bounds of the parts, by name.
        checksums: the checksum files, by their names below the snapshot. `entries` does not have them.
    """

    entries: dict[str, Entry]
    parts: dict[str, RawPart] = {}
    checksums: dict[str, Entry] = {}

    def size(self, name: str) -> int:
        """The size of an object or part in bytes."""
        part = self.parts.get(name)
        return part.end - part.start if part else self.entries[name].size

    def sha256(self, store: Store, name: str) -> str:
        """The sha256 (hex) of an object, or of a part, which is read.

        Args:
            store: store of the object.
            name: name of the object or part.
        """
        path, part = self.entries[name].path, self.parts.get(name)
        return sha256_of_part(store, path, part) if part else hash_object(store, path)


def list_raw(source: Source, store: Store, snapshot: str) -> RawListing:
    """The raw objects of a snapshot that the source reads.

    Args:
        source: the recipe.
        store: store of the raw objects (the lake, or `source.raw`).
        snapshot: the partition key.

    Raises:
        DataError: something that the source would read is no file, or has a name that is not UTF-8.
        StoreError: the listing failed, something cannot be read, or the source's mount marker is not there.
    """
    top = raw_top(source)
    if source.mounted and store.head(top + source.mounted) is None:
        raise not_mounted_error(source, store)
    entries: dict[str, Entry] = {}
    checksums: dict[str, Entry] = {}
    lead = source.partition.prefix(snapshot)

    def refuse(found: Unlisted) -> None:
        if found.hides:
            raise StoreError(f"{show_path(source, found.path)}: {found.reason}")
        name = found.path.removeprefix(top)
        split = source.partition.split(name)
        if split is not None and split[0] == snapshot and source.wants(name.removeprefix(lead)):
            raise DataError(f"{show_path(source, found.path)}: {found.reason}")

    for entry in list_raw_objects(source, store, top + lead, "", refuse):
        name = entry.path.removeprefix(top)
        split = source.partition.split(name)
        if split is None or split[0] != snapshot:
            continue
        below = name.removeprefix(lead)
        if source.wants(below):
            entries[below] = entry
        elif source.is_checksums(below) and not is_hidden(below):
            checksums[below] = entry
    return msgspec.structs.replace(_cut_into_parts(source, dict(sorted(entries.items()))), checksums=checksums)


def _cut_into_parts(source: Source, entries: dict[str, Entry]) -> RawListing:
    """The objects, or their parts if their source cuts them."""
    if not isinstance(source.shards, Split):
        return RawListing(entries)
    found: dict[str, Entry] = {}
    parts: dict[str, RawPart] = {}
    for name, entry in entries.items():
        bounds = source.shards.parts(entry.size)
        if not bounds or not source.reader.cut_by(name):
            found[name] = entry
            continue
        for part in bounds:
            each = part_name(name, part.start)
            if each in entries:
                raise DataError(
                    f"{show_path(source, entries[each].path)}: a part of {name} has this name; rename the object"
                )
            found[each], parts[each] = entry, part
    return RawListing(dict(sorted(found.items())), parts)


def check_targets(source: Source, store: Store, snapshot: str, gone: Iterable[str]) -> None:
    """Refuses links to nothing behind which objects were read. A disk that is not mounted is no removal of them.

    A reader may leave links out. So a listing tells of no such link by itself.

    Args:
        source: the recipe.
        store: store of the raw objects.
        snapshot: the partition key.
        gone: names of objects that were read, and that a listing has not.

    Raises:
        DataError: a folder of one is a link to nothing.
    """
    lead = raw_top(source) + source.partition.prefix(snapshot)
    below = len(raw_top(source)) - 1  # the folder of all raw data is the first
    paths = [f"{lead}{name}" for name in gone]
    folders = {path[:at] for path in paths for at, each in enumerate(path) if each == "/" and at >= below}

    def refuse(found: Unlisted) -> None:
        if found.reason == NO_TARGET and found.path in folders:
            raise DataError(f"{show_path(source, found.path)}: objects behind it were read: {found.reason}")

    for folder in sorted(folders):
        next(iter(store.list(f"{folder}/", "", refuse)), None)


def raw_names_by_shard(source: Source, listing: RawListing) -> dict[str, list[str]]:
    """The names of the raw objects of each shard.

    Args:
        source: the recipe.
        listing: listing of one snapshot.

    Returns:
        Sorted names by sorted shard.

    Raises:
        DataError: a raw object or checksum file has a name that no store reads, or that cannot be a shard's. Or, of a
            one-to-one source, two raw objects would have the same shard, or one a folder where the other has a file.
    """
    files = listing.checksums | listing.entries

    def whole(name: str) -> str:
        return show_path(source, files[name].path)

    shards: dict[str, list[str]] = {}
    wrong: list[str] = []
    for name in files:
        try:
            shard = source.shards.shard(name) if name in listing.entries else check_readable(name)
        except DataError as error:
            wrong.append(f"{whole(name)}: {error}")
            continue
        if name in listing.entries:
            shards.setdefault(shard, []).append(name)
    if wrong:
        more = f"; likewise {len(wrong) - 1} more names in this snapshot" if len(wrong) > 1 else ""
        raise DataError(wrong[0] + more)
    if isinstance(source.shards, OneToOne):
        for shard, names in shards.items():
            if len(names) > 1:
                raise DataError(
                    f"{' and '.join(map(whole, names))} would both become {shard}{SHARD_SUFFIX}; rename one of them"
                )
        both = name_clash({shard: names[0] for shard, names in shards.items()})
        if both:
            raise DataError(
                f"{whole(both[1])} would need a folder where {whole(both[0])} has a file; rename one of them"
            )
    return dict(sorted(shards.items()))
