"""Locating: the row of a finished partition in which a document stands, proven on the row itself.

A shard's id index says where; the ledger's table says which gzip member holds that row; the member is read, and the row
must be the document's.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
import numpy as np

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import find_ledger
from gristmill.lake.ledger.id_index import IdIndex, hash_of
from gristmill.lake.ledger.id_search import sightings
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.rows.shard_file import member_of, member_rows
from gristmill.lake.store.protocol import Store

AT_ONCE = 64
"""Indexes that are read at the same time: a bucket answers each in some 20 ms."""

_GROUPS = 4 * AT_ONCE
"""Into how many pieces of work a partition's shards are divided: a small file costs less than a thread's turn."""


REMADE = "made from another state of this shard: it is due to be made again"
"""What is said of a shard whose inputs are no longer what they were."""


class _PairOfRow(IdPair):
    """Of any row: an attribute row may have no source."""

    source: str = ""


_pair = msgspec.json.Decoder(_PairOfRow)


@dataclass(frozen=True)
class Standing:
    """A finished partition: its ledger, with the table's rows by name."""

    store: Store
    here: Place
    head: Ledger
    shards: dict[str, Shard]

    @property
    def parent(self) -> Upstream | None:
        """The documents that it was selected from, or stands beside."""
        return parent_of(self.head)

    def has_read(self, above: "Standing", name: str) -> bool:
        """Whether a shard was made from the shard of this name above it as that is now."""
        if name not in self.shards or name not in above.shards:
            return False
        content = above.shards[name].content
        return any(i.asset == above.here.asset and i.content == content for i in self.shards[name].inputs)


def parent_of(head: Ledger) -> Upstream | None:
    """The dataset version that a partition was made from, if it was."""
    return next((each for each in head.inputs if kind_of(each.asset) is DOCUMENTS), None)


def standing(store: Store, here: Place) -> Standing | None:
    """The partition, or None while it is not finished; errors are those of read_ledger."""
    found = find_ledger(store, here)
    return Standing(store, here, found[0], {shard.name: shard for shard in found[1]}) if found else None


@dataclass(frozen=True)
class Located:
    """A row of a partition.

    Attributes:
        shard: the shard's row of the table.
        path: of the shard.
        row: its number, from 0.
        member: bytes [start, end) of the gzip member that holds it.
        line: the row.
    """

    shard: Shard
    path: str
    row: int
    member: tuple[int, int]
    line: bytes

    @property
    def pair(self) -> Pair:
        """Whose the row is; attribute rows may have no source.

        Raises:
            DataError: it is nobody's.
        """
        try:
            return _pair.decode(self.line).pair
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{self.path}: row {self.row}: {error}; make its shard again") from error


def row_of(there: Standing, name: str, number: int) -> Located:
    """A row by its number.

    Raises:
        StoreError: there is no such row: the shard was replaced since its table was read.
    """
    shard, path = there.shards[name], there.here.shard(name)
    members = list(shard.members)
    start, end, first = member_of(members, shard.bytes, number)
    rows = member_rows(there.store, path, members, shard.bytes, number)
    if not 0 <= number - first < len(rows):
        raise _replaced(path, number)
    return Located(shard, path, number, (start, end), rows[number - first])


def find_in(there: Standing, name: str, pair: Pair) -> Located | None:
    """A document in one shard, or None; also where there is no such shard.

    Raises:
        StoreError: the row that the index names is another's: the shard is being rebuilt.
    """
    if name not in there.shards:
        return None
    index = IdIndex(there.store, there.here, there.shards[name])
    place = index.place_of(hash_of(pair))
    return None if place is None else _at(there, index, name, place, pair)


def find(there: Standing, pair: Pair) -> Located | None:
    """A document in any shard of a partition, or None; errors are those of find_in."""
    wanted = hash_of(pair)
    names = list(there.shards)
    step = -(-len(names) // _GROUPS) or 1
    groups = [names[start : start + step] for start in range(0, len(names), step)]

    def look(group: Sequence[str]) -> list[tuple[str, IdIndex, int]]:
        indexes = ((name, IdIndex(there.store, there.here, there.shards[name])) for name in group)
        places = ((name, index, index.place_of(wanted)) for name, index in indexes)
        return [(name, index, place) for name, index, place in places if place is not None]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(look, groups):
            for name, index, place in found:
                return _at(there, index, name, place, pair)
    return None


def _at(there: Standing, index: IdIndex, name: str, place: int, pair: Pair) -> Located:
    row = index.row_at(place)
    if row is None:  # hashes alone, as Gristmill 0.1 wrote them: the shard is read through
        high = np.frombuffer(hash_of(pair)[:8], ">u8").astype(np.uint64)
        seen = sightings(there.store, there.here, there.shards[name], high)
        row = next((each.row for each in seen if each.pair == pair), None)
    if row is None:
        raise _replaced(there.here.shard(name), place)
    found = row_of(there, name, row)
    if found.pair != pair:
        raise _replaced(found.path, row)
    return found


def _replaced(path: str, row: int) -> StoreError:
    return StoreError(f"{path}: row {row} is not what its index says: it is being rebuilt; try again, or verify it")
