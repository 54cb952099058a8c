"""Groups: which of very many keys are equal, and which n-grams of a huge text repeat, in bounded memory.

The keys are divided into parts by their hash, and one part after the other is processed. A part in which a key is so
frequent that it is too large is processed in stretches: so also a text of one word, repeated, needs little memory.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import Hashes, Numbers, mix_hash_bits
from gristmill.text.repeats import Repeats, sorted_keys

PART = 1 << 20
"""Keys of a part, about."""
_MOST_PARTS = 256

Places = NDArray[np.uint32]
KeysAt = Callable[[NDArray[np.integer]], Hashes]
"""The keys at some places. Their low bits differ as those of hashes do."""


@dataclass(frozen=True)
class Groups:
    """The keys at P places that occur more than once.

    Args:
        numbers: number of the group of each place, from 1; 0 if its key occurs once, or is no key (P).
        repeated: number of places that have a group.
        count: number of times that the most frequent key occurs; 0 if no key occurs twice.
        first: its first place. Of equally frequent keys, it is the one that occurs first.

    >>> keys = np.array([7, 9, 7, 5, 9, 7], np.uint64)
    >>> groups = Groups.of(len(keys), [np.arange(6)], keys.take)
    >>> (groups.numbers > 0).tolist(), groups.repeated, groups.count, groups.first
    ([True, True, True, False, True, True], 5, 3, 0)
    """

    numbers: NDArray[np.uint32]
    repeated: int
    count: int
    first: int

    @classmethod
    def of(cls, places: int, candidates: Iterable[Numbers], keys_at: KeysAt, part: int = PART) -> "Groups":
        """The groups of keys.

        Args:
            places: number of places.
            candidates: the places that have a key, ascending, in stretches of shape (n,).
            keys_at: function that gives the keys of places.
            part: keys of a part, about.

        Returns:
            The groups; which of them has which number depends on `part`.
        """
        numbers = np.zeros(places, np.uint32)
        groups, repeated, best = 0, 0, (0, 0)
        for stretches in _candidates_by_part(places, candidates, keys_at, part):
            counts, firsts = _number_part_groups(stretches, keys_at, numbers, groups)
            if len(counts):
                most = int(counts.max())
                best = max(best, (most, -int(firsts[counts == most].min())))
                groups += len(counts)
                repeated += int(counts.sum())
        return cls(numbers, repeated, best[0], -best[1])


def ngram_groups(hashes: list[Hashes], most: int, part: int = PART) -> Iterator[tuple[int, Groups]]:
    """The words and n-grams that repeat in a text, for n = 1 to `most`. See `Words.repeats`.

    Args:
        hashes: the hash of each word of the text, in stretches. The list is emptied, because many hashes are large.
        most: the greatest n.
        part: number of keys of a part, about, as in `Groups.of`.

    Yields:
        n, and the groups of the n-grams by their first word.

    >>> hashes = np.array([5, 6, 7, 5, 6, 8], np.uint64)  # "to be or to be that"
    >>> [(n, groups.numbers.tolist()) for n, groups in ngram_groups([hashes], 3)]
    [(1, [1, 2, 0, 1, 2, 0]), (2, [1, 0, 0, 1, 0, 0]), (3, [0, 0, 0, 0, 0, 0])]
    """
    words = hashes[0] if len(hashes) == 1 else np.concatenate([np.zeros(0, np.uint64), *hashes])
    hashes.clear()
    places = len(words)
    stretches = (np.arange(start, min(start + part, places)) for start in range(0, places, part))
    groups = Groups.of(places, stretches, words.take, part)
    del words
    yield 1, groups
    for n in range(2, most + 1):
        known = groups.numbers
        pairs = _adjacent_group_places(known, part)
        groups = Groups.of(places, pairs, lambda at, known=known: _pair_keys(known, at), part)  # type: ignore[misc]
        yield n, groups


def grouped(numbers: NDArray[np.uint32], step: int = PART) -> Iterator[Numbers]:
    """The places that have a group, ascending, in stretches.

    Args:
        numbers: number of the group of each place (P), as in Groups.
        step: places that are looked at together.
    """
    for start in range(0, len(numbers), step):
        yield np.flatnonzero(numbers[start : start + step]) + start


def copies(keys: list[Hashes], lengths: list[NDArray[np.uint32]], part: int = PART) -> tuple[int, int]:
    """The number of things that occur more than once, each copy counted, and the sum of their lengths.

    Args:
        keys: the key of each thing, in stretches. The list is emptied, because many keys are large.
        lengths: length of each thing in code points, in the same stretches. The list is emptied.
        part: number of keys of a part, about, as in `Groups.of`.

    >>> copies([np.array([7, 9, 7], np.uint64)], [np.array([2, 5, 2], np.uint32)])
    (2, 4)
    """
    known = np.concatenate(keys)
    keys.clear()
    sizes = np.concatenate(lengths)
    lengths.clear()
    stretches = (np.arange(start, min(start + part, len(known))) for start in range(0, len(known), part))
    groups = Groups.of(len(known), stretches, known.take, part)
    return groups.repeated, sum(int(sizes[at].sum(dtype=np.int64)) for at in grouped(groups.numbers, part))


def _adjacent_group_places(groups: NDArray[np.uint32], step: int) -> Iterator[Numbers]:
    """The places where two groups stand in a row."""
    for start in range(0, len(groups) - 1, step):
        left, right = groups[start : start + step], groups[start + 1 : start + step + 1]
        yield np.flatnonzero((left[: len(right)] > 0) & (right > 0)) + start


def _pair_keys(groups: NDArray[np.uint32], at: NDArray[np.integer]) -> Hashes:
    """The keys of the pairs of groups at some places: a bijection, so that the result is exact."""
    keys = groups[at].astype(np.uint64) << np.uint64(32)
    keys |= groups[1:][at]
    return mix_hash_bits(keys)


def _candidates_by_part(
    places: int, candidates: Iterable[Numbers], keys_at: KeysAt, part: int
) -> Iterator[list[Places]]:
    """The candidates of each part, ascending, in stretches that are not much longer than a part."""
    parts = min(1 << (max(places - 1, 0) // part).bit_length(), _MOST_PARTS)
    divided: list[list[Places]] = [[] for _ in range(parts)]
    for stretch in candidates:
        of = (keys_at(stretch) & np.uint64(parts - 1)).astype(np.uint8)
        ordered = stretch.astype(np.uint32)[np.argsort(of, kind="stable")]
        ends = np.cumsum(np.bincount(of, minlength=parts))
        for number, found in enumerate(np.split(ordered, ends[:-1])):
            divided[number].append(found)
    while divided:
        yield _join_neighbours(divided.pop(), 2 * part)


def _join_neighbours(stretches: list[Places], most: int) -> list[Places]:
    """Neighbours joined to stretches of at most so many places, if they are not longer already."""
    joined: list[list[Places]] = [[]]
    size = 0
    for stretch in stretches:
        if size + len(stretch) > most:
            joined.append([])
            size = 0
        joined[-1].append(stretch)
        size += len(stretch)
    return [np.concatenate(each) for each in joined if each]


def _number_part_groups(
    stretches: list[Places], keys_at: KeysAt, numbers: NDArray[np.uint32], groups: int
) -> tuple[Numbers, Numbers]:
    """Numbers the groups of a part from `groups` + 1 on: how often the key of each occurs, and its first place."""
    if len(stretches) == 1:
        (places,) = stretches
        repeats = Repeats.of(keys_at(places))
        numbers[places[repeats.places]] = repeats.groups + (groups + 1)
        return repeats.counts, places[repeats.firsts].astype(np.int64)
    found = [_sum_equal_keys(keys_at(at), np.ones(len(at), np.int64), at.astype(np.int64)) for at in stretches]
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys, counts, firsts = _sum_equal_keys(*(np.concatenate(each) for each in zip(*found, strict=True)))
    again = counts > 1
    table = keys[again]
    for at in stretches if len(table) else ():
        keys_of = keys_at(at)
        places_in = np.minimum(np.searchsorted(table, keys_of), len(table) - 1)
        same = table[places_in] == keys_of
        numbers[at[same]] = places_in[same] + (groups + 1)
    return counts[again], firsts[again]


def _sum_equal_keys(keys: Hashes, counts: Numbers, firsts: Numbers) -> tuple[Hashes, Numbers, Numbers]:
    """Equal keys as one: the keys ascending, the sum of their counts, and the first of their places."""
    order, ordered = sorted_keys(keys)
    if not len(keys):
        return keys, counts, firsts
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], np.add.reduceat(counts[order], starts), firsts[order[starts]]
