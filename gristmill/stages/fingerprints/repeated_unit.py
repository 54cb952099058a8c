"""What a part says of a unit that occurs often: the parts of verdicts say it of hashes, those of clusters of clusters.

The facts of a part have a list `largest` of them. It names places and holds no text.
"""

import msgspec

from gristmill.lake.store.json_object import Integer

LARGEST = 10
"""How many of them a part names, at most."""


class RepeatedUnit(msgspec.Struct, frozen=True, array_like=True):
    """A unit that occurs often in what one round compared.

    Attributes:
        key: the hash, or the number of the cluster (hex). Equal hashes of two rounds are the same unit; clusters with
            one number are the same if they keep the same document.
        times: number of times that it occurs in the snapshots of the round, and one for each earlier snapshot that has
            it. Of a cluster: its documents after the round.
        new: number of times that it occurs in the snapshots of the round. Of a cluster: 0.
        rank: rank of the first snapshot of the round that has it. Of a cluster: of the document that it keeps.
        position: place of its first occurrence in that snapshot: (number of the shard << 32) + number of its span in
            the shard.
    """

    key: str
    times: Integer
    new: Integer
    rank: Integer
    position: Integer


def most_repeated(found: list[RepeatedUnit]) -> list[RepeatedUnit]:
    """The units that occur most often, at most LARGEST. Of equal ones the lower key comes first.

    Args:
        found: units with different keys.

    >>> found = [RepeatedUnit(key, times, times, 0, 0) for key, times in (("b", 2), ("c", 5), ("a", 2))]
    >>> [each.key for each in most_repeated(found)]
    ['c', 'a', 'b']
    """
    return sorted(found, key=lambda each: (-each.times, each.key))[:LARGEST]
