"""Listing the raw data of one snapshot: which objects it has, and which shard each goes to."""

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import SHARD_SUFFIX, raw_asset
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.scan import raw_top
from gristmill.recipes.source import OneToOne, Source


class RawListing(msgspec.Struct, frozen=True):
    """The raw objects of one snapshot: by name below the snapshot, where each lies."""

    entries: dict[str, Entry]

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(entry.size for entry in self.entries.values())


def list_raw(source: Source, store: Store, snapshot: str) -> RawListing:
    """The raw objects of a snapshot that the source reads.

    Args:
        source: the recipe.
        store: the one that holds the raw objects (the lake, or `source.raw`).
        snapshot: the key.
    """
    top = raw_top(source)
    found: dict[str, Entry] = {}
    lead = source.partition.prefix(snapshot)
    for entry in store.list(top + lead):
        name = entry.path.removeprefix(top)
        split = source.partition.split(name)
        if split is None or split[0] != snapshot:
            continue
        below = name.removeprefix(lead)
        if source.wants(below):
            found[below] = entry
    return RawListing(dict(sorted(found.items())))


def by_shard(source: Source, listing: RawListing) -> dict[str, list[str]]:
    """Raw objects' names by the shard they go to, both sorted.

    Raises:
        DataError: two raw objects of a one-to-one source make one shard's name.
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
