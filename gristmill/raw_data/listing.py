"""Lists the raw data of one snapshot: its objects, and the shard of each."""

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import SHARD_SUFFIX
from gristmill.lake.store.plain_files import Unlisted
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.scan import listed, not_mounted, raw_top, shown
from gristmill.raw_data.shard_names import clash
from gristmill.recipes.source import OneToOne, Source


class RawListing(msgspec.Struct, frozen=True):
    """The raw objects of one snapshot, by their names below the snapshot."""

    entries: dict[str, Entry]

    @property
    def bytes(self) -> int:
        """The size of all objects together."""
        return sum(entry.size for entry in self.entries.values())


def list_raw(source: Source, store: Store, snapshot: str) -> RawListing:
    """The raw objects of a snapshot that the source reads.

    Args:
        source: the recipe.
        store: holds the raw objects (the lake, or `source.raw`).
        snapshot: the partition key.

    Raises:
        DataError: something that the source would read is no file, or has a name that is not UTF-8.
        StoreError: the listing failed, something cannot be read, or the source's mount marker is not there.
    """
    top = raw_top(source)
    if source.mounted and store.head(top + source.mounted) is None:
        raise not_mounted(source, store)
    entries: dict[str, Entry] = {}
    lead = source.partition.prefix(snapshot)

    def refuse(found: Unlisted) -> None:
        if found.hides:
            raise StoreError(f"{shown(source, found.path)}: {found.reason}")
        name = found.path.removeprefix(top)
        split = source.partition.split(name)
        if split is not None and split[0] == snapshot and source.wants(name.removeprefix(lead)):
            raise DataError(f"{shown(source, found.path)}: {found.reason}")

    for entry in listed(source, store, top + lead, "", refuse):
        name = entry.path.removeprefix(top)
        split = source.partition.split(name)
        if split is None or split[0] != snapshot:
            continue
        below = name.removeprefix(lead)
        if source.wants(below):
            entries[below] = entry
    return RawListing(dict(sorted(entries.items())))


def by_shard(source: Source, listing: RawListing) -> dict[str, list[str]]:
    """The names of the raw objects of each shard.

    Args:
        source: the recipe.
        listing: of one snapshot.

    Returns:
        Sorted names by sorted shard.

    Raises:
        DataError: the name of a raw object cannot be a shard's name. Or, of a one-to-one source, two raw objects would
            have the same shard, or one a folder where the other has a file.
    """

    def whole(name: str) -> str:
        return shown(source, listing.entries[name].path)

    shards: dict[str, list[str]] = {}
    for name in listing.entries:
        try:
            shard = source.shards.shard(name)
        except DataError as error:
            raise DataError(f"{whole(name)}: {error}") from error
        shards.setdefault(shard, []).append(name)
    if isinstance(source.shards, OneToOne):
        for shard, names in shards.items():
            if len(names) > 1:
                raise DataError(
                    f"{' and '.join(map(whole, names))} would both become {shard}{SHARD_SUFFIX}; rename one of them"
                )
        both = clash({shard: names[0] for shard, names in shards.items()})
        if both:
            raise DataError(
                f"{whole(both[1])} would need a folder where {whole(both[0])} has a file; rename one of them"
            )
    return dict(sorted(shards.items()))
