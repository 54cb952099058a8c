"""Repeats: which of many 64-bit keys occur more than once."""

from dataclasses import dataclass

import numpy as np

from gristmill.text.code_points import Hashes, Numbers


@dataclass(frozen=True)
class Repeats:
    """The keys that occur at least twice, numbered as groups from 0.

    Args:
        places: where such keys stand in what was given, ascending.
        groups: the group of each of those places.
        counts: how often the key of each group occurs.
        firsts: where the key of each group stands first.
    """

    places: Numbers
    groups: Numbers
    counts: Numbers
    firsts: Numbers

    @classmethod
    def of(cls, keys: Hashes) -> "Repeats":
        """Compares whole keys: exact, whatever their distribution; fastest when their high bits differ."""
        order, ordered = _sorted(keys)
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


def _sorted(keys: Hashes) -> tuple[Numbers, Hashes]:
    """The places of the keys, equal keys side by side and in their order; and the keys so ordered.

    A place written over a key's low bits sorts five times faster than the stable way that is right for every
    key, and is right as well unless two keys differ in those bits only.
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
