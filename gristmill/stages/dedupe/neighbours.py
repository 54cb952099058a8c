"""Neighbouring pieces of work that one item does together, because a request costs more than its bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.execution.one_asset import OneAssetPlan
from gristmill.execution.plan import PartitionState, Want
from gristmill.execution.work import Item, encode_raw
from gristmill.lake.store.json_object import Integer


class Neighbours(msgspec.Struct, frozen=True):
    """The shards [first, last) of a partition, by their numbers in the order of its target."""

    first: Integer
    last: Integer


@dataclass(frozen=True)
class NeighboursPlan(OneAssetPlan):
    """A plan in which neighbouring missing shards are one item.

    An item has the name of its last shard: if that one is finished, so are the others.

    Attributes:
        sizes: number of hashes of each shard, in the order of the target.
        most: the most hashes of an item, unless one shard has more.
        hash_bytes: bytes that are read for a hash: the weight of an item.
    """

    sizes: tuple[int, ...]
    most: int
    hash_bytes: int = 1

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        names = [want.name for want in self.target.wants]
        numbers = {name: number for number, name in enumerate(names)}
        missing = [numbers[want.name] for want in todo[self.target.place.asset]]
        weights = {number: self.sizes[number] for number in missing}
        return [
            Item(names[last - 1], self.hash_bytes * sum(self.sizes[first:last]), encode_raw(Neighbours(first, last)))
            for first, last in neighbour_ranges(weights, self.most)
        ]


def neighbour_ranges(weights: Mapping[int, int], most: int) -> Iterator[tuple[int, int]]:
    """Numbers in ranges [first, last) without a gap.

    Args:
        weights: the weight of each number.
        most: the most that the numbers of a range weigh together, unless one alone weighs more.

    Returns:
        The first number of a range, and the number after its last.

    >>> list(neighbour_ranges({0: 1, 1: 1, 2: 5, 4: 1}, 2))
    [(0, 2), (2, 3), (4, 5)]
    """
    first = last = -1
    held = 0
    for number, weight in sorted(weights.items()):
        if number != last or held + weight > most:
            if last > first:
                yield first, last
            first, held = number, 0
        last, held = number + 1, held + weight
    if last > first:
        yield first, last
