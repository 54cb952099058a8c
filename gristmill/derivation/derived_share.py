"""The share of a lake's bytes that was derived again from raw data, through every step between.

Models, tokenizers and blocklists are taken as they are: they are not derived again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from gristmill.errors import DataError
from gristmill.lake.address import Place, place_of_ledger
from gristmill.lake.asset_kinds import TOKEN_CACHE, kind_of
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import part_records


@dataclass
class DerivedShare:
    """How many bytes the shards of a lake have, and how many of them were derived again from raw data.

    Attributes:
        bytes: the bytes of all shards, by the name of the kind of asset.
        derived: the bytes of the shards that were derived again.
    """

    bytes: dict[str, int] = field(default_factory=dict)
    derived: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, size: int, derived: int) -> None:
        """Counts a shard.

        Args:
            kind: name of the kind of its asset.
            size: its bytes.
            derived: number of these bytes that were derived again.
        """
        self.bytes[kind] = self.bytes.get(kind, 0) + size
        self.derived[kind] = self.derived.get(kind, 0) + derived

    def __str__(self) -> str:
        """The share in words. A kind without bytes has no share, so it is not named.

        >>> share = DerivedShare()
        >>> share.add("documents", 900, 900)
        >>> share.add("mix", 100, 0)
        >>> share.add("verdicts", 0, 0)
        >>> str(share)
        '90.0% of the 1,000 bytes of all shards were derived again from raw data (documents 100.0%, mix 0.0%)'
        """
        kinds = ", ".join(
            f"{kind} {_percent_rounded_down(self.derived[kind], size)}" for kind, size in self.bytes.items() if size
        )
        derived, size = sum(self.derived.values()), sum(self.bytes.values())
        percent = _percent_rounded_down(derived, size)
        share = f"{percent} of the {size:,} bytes of all shards were derived again from raw data"
        return f"{share} ({kinds})" if kinds else share


def _percent_rounded_down(part: int, whole: int) -> str:
    """A share in per cent, rounded down: only all of it is 100%."""
    return f"{(1000 * part // whole if whole else 0) / 10:.1f}%"


Derived = tuple[str, str, str]
"""Asset, snapshot and name of a shard that was derived again from its inputs."""


def derived_share(
    store: Store, paths: Iterable[str], proven: Collection[Derived], whole: Collection[str]
) -> DerivedShare:
    """The share of the bytes of shards that were derived again, and whose inputs all were too. No byte counts twice.

    Args:
        store: the lake.
        paths: the paths of the ledgers.
        proven: the shards that were derived again. Those of a token cache have the names of the shards of its mix.
        whole: the paths of ledgers whose partition was made again as a whole, as the audit of exports does.
    """
    share, known = DerivedShare(), _Known()
    for partition in filter(None, map(place_of_ledger, paths)):
        try:
            found = find_head_and_table(store, partition)
        except DataError:  # its audit says what is wrong
            found = None
        if found is not None:
            known[partition.asset, partition.snapshot] = _Partition(partition, *found)
    for each in _order_upstream_first(known):
        known[each].count_derived_shards(known, proven, whole)
    for here in known.values():
        share.add(here.place.kind.name, sum(map(_uncompressed_size, here.rows)), here.derived_bytes)
    return share


def _order_upstream_first(known: "_Known") -> Iterator[tuple[str, str]]:
    """The partitions in an order in which what they read, as their heads say, comes before them.

    Forged partitions that read each other are left out, and so is what reads them: nothing of it is derived.
    """
    order = TopologicalSorter({key: [each for each in here.reads if each in known] for key, here in known.items()})
    with suppress(CycleError):
        order.prepare()
    while ready := order.get_ready():
        yield from ready
        order.done(*ready)


def _uncompressed_size(row: Shard) -> int:
    return row.bytes + (row.quarantine.bytes if row.quarantine else 0)


class _Partition:
    """A partition while its bytes are counted.

    Attributes:
        place: the place of the partition.
        rows: the rows of its table.
        derived: the names of the shards that were derived from raw data.
        derived_bytes: the bytes of these shards.
    """

    def __init__(self, place: Place, head: Ledger, rows: Sequence[Shard]) -> None:
        self.place, self._head, self.rows = place, head, rows
        self._names = {row.name for row in rows}
        self.derived: set[str] = set()
        self.derived_bytes = 0

    @property
    def reads(self) -> list[tuple[str, str]]:
        """The partitions that it was made from."""
        return [(each.asset, each.snapshot) for each in self._head.inputs]

    def count_derived_shards(self, known: "_Known", proven: Collection[Derived], whole: Collection[str]) -> None:
        """Counts the shards that were derived from raw data. What the partition reads must have been counted."""
        asset, snapshot = self.place.asset, self.place.snapshot
        for row in self.rows:
            if self.place.kind is TOKEN_CACHE:
                read = {each.shard for each in row.inputs if self.is_derived(each.asset, each.shard, known)}
                self.derived_bytes += _derived_part_bytes(
                    row, {name for name in read if (asset, snapshot, name) in proven}
                )
            elif (self.place.ledger in whole or (asset, snapshot, row.name) in proven) and self.from_raw(row, known):
                self.derived.add(row.name)
                self.derived_bytes += _uncompressed_size(row)

    def from_raw(self, row: Shard, known: "_Known") -> bool:
        """Whether all inputs of a shard were derived from raw data, or are taken as they are."""
        return all(self.is_derived(each.asset, each.shard, known) for each in row.inputs)

    def is_derived(self, asset: str, shard: str, known: "_Known") -> bool:
        """Whether an input was derived. An input that names no shard of a partition means all of its shards."""
        if (kind := kind_of(asset)) and not kind.is_partitioned:  # it is taken as it is
            return True
        read = [known.get((each.asset, each.snapshot)) for each in self._head.inputs if each.asset == asset]
        return bool(read) and all(each is not None and each.has_derived_shard(shard) for each in read)

    def has_derived_shard(self, name: str) -> bool:
        """Whether the shard of this name was derived; without such a shard, whether all shards were."""
        return name in self.derived if name in self._names else len(self.derived) == len(self._names)


_Known = dict[tuple[str, str], _Partition]
"""Partitions, by asset and snapshot."""


def _derived_part_bytes(row: Shard, derived: Collection[str]) -> int:
    """The bytes of a token cache's part whose tokens were derived: its share of them, by the mix's shards."""
    size, record = _uncompressed_size(row), part_records([row]).get(row.name)
    shards = record.shards if record else {}
    tokens = {name: sum(bounds[3] for bounds in shard.ranges.values()) for name, shard in shards.items()}
    if shards.keys() <= set(derived):
        return size if shards else 0
    return size * sum(tokens[name] for name in shards.keys() & set(derived)) // max(sum(tokens.values()), 1)
