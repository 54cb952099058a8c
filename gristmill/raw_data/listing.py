"""Lists the raw data of one snapshot: its objects, and the shard of each."""

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import SHARD_SUFFIX, raw_asset
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.scan import raw_top
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
    """
    top = raw_top(source)
    entries: dict[str, Entry] = {}
    lead = source.partition.prefix(snapshot)
    for entry in store.list(top + lead):
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
        DataError: two raw objects of a one-to-one source would have the same shard.
    """
    shards: dict[str, list[str]] = {}
    for name in listing.entries:
        shards.setdefault(source.shards.shard(name), []).append(name)
    if isinstance(source.shards, OneToOne):
        for shard, names in shards.items():
            if len(names) > 1:
                raise DataError(
                    f"{raw_asset(source.name)}: {' and '.join(names)} would both become {shard}{SHARD_SUFFIX};"
                    " rename one of them"
                )
    return dict(sorted(shards.items()))
