"""Repeats: the 64-bit keys that occur more than once."""

from dataclasses import dataclass

import numpy as np

from gristmill.text.code_points import Hashes, Numbers


@dataclass(frozen=True)
class Repeats:
    """The keys that occur at least twice. Equal keys form a group; groups are numbered from 0.

    Args:
        places: the indices of such keys in the given array, ascending (P).
        groups: the group of each place (P).
        counts: number of times that the key of each group occurs (G).
        firsts: the first index of each group's key (G).

    >>> repeats = Repeats.of(np.array([7, 9, 7, 5, 9, 7], np.uint64))
    >>> repeats.places.tolist(), repeats.groups.tolist(), repeats.counts.tolist(), repeats.firsts.tolist()
    ([0, 1, 2, 4, 5], [0, 1, 0, 1, 0], [3, 2], [0, 1])
    """

    places: Numbers
    groups: Numbers
    counts: Numbers
    firsts: Numbers

    @classmethod
    def of(cls, keys: Hashes) -> "Repeats":
        """The repeats of keys, shape (n,). Exact for every distribution; fastest if the keys' high bits differ."""
        order, ordered = sorted_keys(keys)
        apart = np.ones(len(keys) + 1, np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=apart[1:-1])
        heads, tails = apart[:-1], apart[1:]
        (members,) = np.nonzero(~(heads & tails))
        starts = heads[members]
        firsts = order[members[starts]]
        counts = np.diff(np.append(np.flatnonzero(starts), len(members)))
        numbers = np.zeros(len(keys), np.int64)
        numbers[order[members]] = np.cumsum(starts)
        (places,) = np.nonzero(numbers)
        return cls(places, numbers[places] - 1, counts, firsts)


def sorted_keys(keys: Hashes) -> tuple[Numbers, Hashes]:
    """The indices that sort the keys (n), stable, and the sorted keys (n).

    The index of a key replaces its low bits before sorting. This is five times faster than a stable sort. Its order
    is wrong only if two keys differ in those bits alone; then the stable sort is used.
    """
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    packed = keys & ~low
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & low).astype(np.int64)
    packed |= low
    ordered = keys[order]
    if np.any((packed[1:] == packed[:-1]) & (ordered[1:] != ordered[:-1])):
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    return order, ordered
