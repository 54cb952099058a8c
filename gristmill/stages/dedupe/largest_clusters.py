"""The largest clusters of a resolution: what the rounds say of the units that occur most often, put together."""

from collections.abc import Iterable, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.lake.store.json_object import Integer
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.fingerprints.repeated_unit import RepeatedUnit, most_repeated

_SHARD_BITS = 32
"""The low bits of a position are the number of a span in its shard, the others the number of the shard."""


class LargestCluster(msgspec.Struct, frozen=True):
    """A unit that occurs often, or a cluster of near duplicates. It names a place and holds no text.

    What `times` and `span` count depends on the recipe: cluster_facts() has a name for each meaning.

    Attributes:
        times: number of times that it occurs, at least; of near duplicates the number of documents of the cluster. Each
            round names only the ten units that occur most often in it, so occurrences in other rounds may be missing.
        source: name of the source of one occurrence: the first of the rounds that name it.
        snapshot: its key.
        shard: name of the shard.
        span: number of the unit's fingerprint in that shard; of a near duplicate, number of the document among those
            with words.
    """

    times: Integer
    source: str
    snapshot: str
    shard: str
    span: Integer

    def cluster_facts(self, *, near: bool) -> dict[str, str | int]:
        """The values of the cluster by name, for people.

        Args:
            near: whether it is a cluster of near duplicates.
        """
        place = {"source": self.source, "snapshot": self.snapshot, "shard": self.shard}
        if near:
            return {"documents": self.times, **place, "document with words": self.span}
        return {"times": self.times, **place, "span": self.span}


def largest_clusters(
    found: Iterable[RepeatedUnit], order: Order, shards: Sequence[Sequence[str]], where: str
) -> tuple[LargestCluster, ...]:
    """The units that occur most often over all rounds, the most frequent first.

    A unit that several rounds name occurs as often as all its new occurrences, or as the greatest count says.

    Args:
        found: the units that each round names.
        order: the order of the snapshots.
        shards: the names of the shards of each rank, sorted.
        where: description of what was compared, for the message.

    Raises:
        DataError: a part names a place that no snapshot has.
    """
    units: dict[str, RepeatedUnit] = {}
    for each in found:
        known = units.get(each.key, each)
        rank, position = min((known.rank, known.position), (each.rank, each.position))
        new = each.new if known is each else known.new + each.new
        units[each.key] = RepeatedUnit(each.key, max(known.times, each.times), new, rank, position)
    most = most_repeated([msgspec.structs.replace(each, times=max(each.times, each.new)) for each in units.values()])
    return tuple(_locate_cluster(each, order, shards, where) for each in most)


def _locate_cluster(unit: RepeatedUnit, order: Order, shards: Sequence[Sequence[str]], where: str) -> LargestCluster:
    number = unit.position >> _SHARD_BITS
    if not (0 <= unit.rank < len(shards) and 0 <= number < len(shards[unit.rank])):
        raise DataError(f"{where}: names a place that no snapshot of the order has; make its partition again")
    entry = order.entries[unit.rank]
    span = unit.position & ((1 << _SHARD_BITS) - 1)
    return LargestCluster(unit.times, entry.source, entry.snapshot, shards[unit.rank][number], span)
