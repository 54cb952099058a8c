"""Finds a document's row in a finished partition, and checks that the row is the document's.

A shard's id index gives the row number. The ledger's table gives the gzip member that holds this row. The member is
read, and the row must have the document's source and id.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec
import numpy as np

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.ledger.id_index import IdIndex, hash_pair
from gristmill.lake.ledger.id_search import find_sightings
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.rows.shard_file import find_gzip_member
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.text.differences import Difference, first_differences
from gristmill.threads import thread_pool

AT_ONCE = 64
"""Indexes that are read at the same time: a bucket answers a request in about 20 ms."""

_GROUPS = 4 * AT_ONCE
"""Number of tasks for the shards of a partition. Reading a small file costs less than starting a thread's task."""

_Read = TypeVar("_Read")

REMADE = "made from another version of this shard: it is due to be rebuilt"
"""The explanation for a shard whose inputs have changed since it was made."""


class _PairOfRow(msgspec.Struct):
    """The source and id of any row. An attribute row may have no source; others write integer ids."""

    id: str | int
    source: str | None = None

    @property
    def pair(self) -> Pair:
        return self.source or "", str(self.id)


_pair = msgspec.json.Decoder(_PairOfRow)


@dataclass(frozen=True)
class Partition:
    """A finished partition.

    Attributes:
        store: the lake.
        place: the partition's asset and snapshot.
        head: the head of its ledger.
        shards: the rows of its ledger's table, by name.
        last: values that were read for the last row, and are often needed for the next one, by the name of what it is.
    """

    store: Store
    place: Place
    head: Ledger
    shards: dict[str, Shard]
    last: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def read_once(self, name: str, key: Hashable, read: Callable[[], _Read]) -> _Read:
        """The value that was read under this name for the same key the last time; otherwise it is read, and replaces
        the last.

        Args:
            name: name of the kind of thing, such as `splits`.
            key: key of the thing; equal keys mean equal things.
            read: function that reads it.
        """
        if self.last.get(name, (None,))[0] != (key,):
            self.last[name] = ((key,), read())
        return cast("_Read", self.last[name][1])

    @property
    def parent(self) -> Upstream | None:
        """The documents that it was selected from or that it annotates; None if there are none."""
        return parent_version(self.head)

    def has_read(self, upstream: "Partition", name: str) -> bool:
        """Whether a shard was made from the current version of the upstream shard of the same name."""
        if name not in self.shards or name not in upstream.shards:
            return False
        content = upstream.shards[name].identity
        return any(i.asset == upstream.place.asset and i.content == content for i in self.shards[name].inputs)


def parent_version(head: Ledger) -> Upstream | None:
    """The dataset version that a partition was made from, or None."""
    return next((upstream for upstream in head.inputs if kind_of(upstream.asset) is DOCUMENTS), None)


def find_partition(store: Store, place: Place) -> Partition | None:
    """The partition, or None if it is not finished.

    Raises:
        DataError: the ledger is wrong.
        StoreError: the partition is being rebuilt, or the lake does not answer.
    """
    ledger = find_head_and_table(store, place)
    return Partition(store, place, ledger[0], {shard.name: shard for shard in ledger[1]}) if ledger else None


@dataclass(frozen=True)
class LocatedRow:
    """A row of a partition.

    Attributes:
        shard: the shard's row of the ledger's table.
        path: path of the shard.
        row: number of the row in the shard, from 0.
        member: bytes [start, end) of the gzip member that holds the row.
        line: the row's bytes, without the line feed.
    """

    shard: Shard
    path: str
    row: int
    member: tuple[int, int]
    line: bytes

    @property
    def pair(self) -> Pair:
        """The row's (source, id). The source of an attribute row may be empty.

        Raises:
            DataError: the row has no valid id.
        """
        try:
            return _pair.decode(self.line).pair
        except NOT_DECODED as error:
            raise DataError(f"{self.path}: row {self.row}: {error}; make its shard again") from error


def read_located_row(partition: Partition, name: str, number: int) -> LocatedRow:
    """Reads one row.

    Args:
        partition: the partition.
        name: the shard's name.
        number: the row's number in the shard, from 0.

    Returns:
        The row, with its place in the shard.

    Raises:
        StoreError: no such row exists; the shard was replaced after its table was read.
    """
    shard = partition.shards[name]
    file = open_shard(partition.store, partition.place, shard)
    start, end, _ = find_gzip_member(shard.members, shard.bytes, number)
    if file.has_small_members(number):
        key = (file.path, shard.sha256, start)
        first, rows = partition.read_once("member", key, lambda: file.rows_around(number))
    else:
        first, rows = file.rows_around(number)
    if not 0 <= number - first < len(rows):
        raise _replaced_object_error(file.path, number)
    return LocatedRow(shard, file.path, number, (start, end), rows[number - first])


def locate_in_shard(partition: Partition, name: str, pair: Pair) -> LocatedRow | None:
    """Finds a document in one shard.

    Returns:
        The document's row, or None if the shard does not exist or does not contain the document.

    Raises:
        DataError: the shard's id index is missing or damaged.
        StoreError: the row that the index names belongs to another document; the shard is being rebuilt.
    """
    if name not in partition.shards:
        return None
    index = IdIndex(partition.store, partition.place, partition.shards[name])
    position = index.find_position(hash_pair(pair))
    return None if position is None else _located_row(partition, index, name, position, pair)


def locate_in_partition(partition: Partition, pair: Pair) -> LocatedRow | None:
    """Finds a document in any shard of a partition; returns and raises the same as `locate_in`.

    Returns:
        The row, as from `locate_in`.
    """
    digest = hash_pair(pair)
    names = list(partition.shards)
    step = -(-len(names) // _GROUPS) or 1
    groups = [names[start : start + step] for start in range(0, len(names), step)]

    def search(group: Sequence[str]) -> list[tuple[str, IdIndex, int]]:
        indexes = ((name, IdIndex(partition.store, partition.place, partition.shards[name])) for name in group)
        positions = ((name, index, index.find_position(digest)) for name, index in indexes)
        return [(name, index, position) for name, index, position in positions if position is not None]

    with thread_pool(AT_ONCE) as pool:
        for hits in pool.map(search, groups):
            for name, index, position in hits:
                return _located_row(partition, index, name, position, pair)
    return None


def _located_row(partition: Partition, index: IdIndex, name: str, position: int, pair: Pair) -> LocatedRow:
    row = index.row_at(position)
    if row is None:  # an index of Gristmill 0.1 has hashes only, so the whole shard is searched
        high = np.frombuffer(hash_pair(pair)[:8], ">u8").astype(np.uint64)
        candidates = find_sightings(partition.store, partition.place, partition.shards[name], high)
        row = next((sighting.row for sighting in candidates if sighting.pair == pair), None)
    if row is None:
        raise _replaced_object_error(partition.place.shard(name), position)
    return read_known_row(partition, name, row, pair)


def read_known_row(partition: Partition, name: str, number: int, pair: Pair) -> LocatedRow:
    """Reads the row of a document that was found before, and checks that it still is this document's.

    Args:
        partition: the partition, which may have been read later than the document was found.
        name: the shard's name.
        number: the row's number in the shard, from 0.
        pair: (source, id) of the document.

    Returns:
        The row, with its place in the shard.

    Raises:
        StoreError: the row is another document's, or is gone: the shard was made again since.
    """
    if name not in partition.shards:
        raise _replaced_object_error(partition.place.shard(name), number)
    located = read_located_row(partition, name, number)
    if located.pair != pair:
        raise _replaced_object_error(located.path, number)
    return located


def _replaced_object_error(path: str, row: int) -> StoreError:
    return StoreError(
        f"{path}: row {row} is not the row that the shard's index names: the shard is being rebuilt; try again, or"
        " verify it"
    )


def other_sources_hint(searched: Sequence[Partition], source: str) -> str:
    """A hint for somebody who gave the name of a recipe, whose documents name another source; empty if they do not.

    Args:
        searched: partitions without the document.
        source: name that was given.
    """
    named = [each for each in searched if names_in_asset_address(each.place.asset)["source"] == source]
    found: dict[str, None] = {}
    for version in named or searched:
        shard = next((shard for shard in version.shards.values() if shard.rows), None)
        if shard is not None:
            for _, rows in islice(open_shard(version.store, version.place, shard).rows(IdPair, verified=False), 1):
                found.update(dict.fromkeys(row.source for row in rows))
    if not found or source in found:
        return ""
    names = ", ".join(map(repr, list(found)[:_NAMED])) + (", ..." if len(found) > _NAMED else "")
    return f" Documents there have another `source` than {source!r}: {names}; name that."


_NAMED = 8
"""Sources that a message names at most."""


def text_changes(before: LocatedRow, after: LocatedRow) -> tuple[Difference, ...]:
    """The first differences between the texts of two rows.

    Args:
        before: a document's row in one version.
        after: its row in another.
    """
    if before.line == after.line:
        return ()
    old, new = (str(msgspec.json.decode(row.line).get("text", "")) for row in (before, after))
    return first_differences(old, new)
