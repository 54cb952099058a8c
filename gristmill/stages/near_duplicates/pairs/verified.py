"""Candidates that are similar indeed: each member of a group is compared with few others, so the work is linear."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.stages.near_duplicates.nodes import Nodes
from gristmill.stages.near_duplicates.pairs.candidates import BandMembers
from gristmill.stages.near_duplicates.pairs.similarity import Similarities, Similarity

ROUNDS = 4
"""How often those that are not similar to the first of their group are compared among each other."""

_TOGETHER = 1 << 22  # pairs that are collected before equal ones are removed


@dataclass(frozen=True)
class SimilarPairs:
    """Different pairs of documents, sorted.

    Attributes:
        one: the one that comes first in its group (n).
        other: the other document (n).
        similarities: similarity of each pair (n).
    """

    one: Nodes
    other: Nodes
    similarities: Similarities

    def find(self, one: Nodes, other: Nodes) -> tuple[Similarities, NDArray[np.bool_]]:
        """The similarities of pairs, and whether each is known; shape (n,) each. In what order a pair is given does not
        matter.
        """
        nodes = np.unique(np.concatenate([self.one, self.other, one, other]))
        known = _pair_keys(nodes, self.one, self.other)
        by = np.argsort(known, kind="stable")
        wanted = _pair_keys(nodes, one, other)
        at = np.minimum(np.searchsorted(known[by], wanted), max(len(known) - 1, 0))
        if not len(known):
            return np.zeros(len(one), np.float32), np.zeros(len(one), np.bool_)
        return self.similarities[by[at]], known[by[at]] == wanted

    def less_similar(self, least: float) -> "SimilarPairs":
        """The pairs with a lower similarity."""
        low = self.similarities < least
        return SimilarPairs(self.one[low], self.other[low], self.similarities[low])

    def among(self, members: BandMembers) -> NDArray[np.bool_]:
        """Whether each member and its first document are one of these pairs, as flags (n). Fast if these are few."""
        found = np.zeros(len(members), np.bool_)
        ends = np.unique(self.other)
        if len(ends):
            at = np.minimum(np.searchsorted(ends, members.nodes), len(ends) - 1)
            (maybe,) = np.nonzero(ends[at] == members.nodes)
            found[maybe] = self.find(members.heads[maybe], members.nodes[maybe])[1]
        return found


def _pair_keys(nodes: Nodes, one: Nodes, other: Nodes) -> NDArray[np.int64]:
    """A number for each pair, whatever its order."""
    ends = np.searchsorted(nodes, np.stack([one, other]))
    keys: NDArray[np.int64] = ends.min(axis=0) * len(nodes) + ends.max(axis=0)
    return keys


def verify_pairs(
    buckets: Callable[[], Iterable[BandMembers]], similarity: Similarity, least: float, rule: int = 1
) -> tuple[SimilarPairs, dict[str, int]]:
    """The pairs that are similar enough, and counts.

    Each member is compared with the first document of its group. Those that are not similar to it are compared with the
    document before them in the group. Those that are not similar to that either are compared among each other: with
    the first of them, and so on, in at most ROUNDS rounds.

    By rule 2, those that are not similar to the first document are compared with the first member that is; and so are
    those that are not similar to the first of them in a round.

    Args:
        buckets: function that gives the members of all groups, the same each time.
        similarity: function that computes similarities.
        least: pairs below it are not similar.
        rule: 1 or 2.
    """
    stars = _compare_star_pairs(buckets(), similarity)
    found = [stars]
    apart, before, passed = _dissimilar_members(buckets(), stars, least)
    counts = {"candidates": len(stars.one), "apart": len(apart)}

    def near(others: Nodes, tried: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each member that is apart is similar to another document; False where it is not tried."""
        one, other = np.minimum(others, apart.nodes)[tried], np.maximum(others, apart.nodes)[tried]
        pairs = _compare_star_pairs([BandMembers(one, apart.bands[tried], other)], similarity)
        found.append(pairs)
        alike = np.zeros(len(apart), np.bool_)
        alike[tried] = pairs.find(one, other)[0] >= least
        return alike

    for number in range(ROUNDS + 1):
        if not len(apart):
            break
        left = np.ones(len(apart), np.bool_)
        if number:  # among each other
            firsts = _first_chosen_of_group(apart.group_start_flags, apart.group_start_flags)
            tried = left = firsts != np.arange(len(apart))
            alike = near(apart.nodes[firsts], tried)
            passed = apart.nodes[_first_chosen_of_group(apart.group_start_flags, alike)]
        else:
            alike = near(before, before != apart.heads)
        if rule > 1:
            alike |= near(passed, left & ~alike & (passed != apart.nodes) & (passed != apart.heads))
        apart = apart.select(left & ~alike)
    counts["compared"] = sum(len(pairs.one) for pairs in found)
    return _join_similar_pairs(found, least), counts


def _first_chosen_of_group(starts: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each member the place of the first chosen one of its group; its own, if none is chosen.

    >>> some = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 0]], np.bool_)
    >>> _first_chosen_of_group(some[0], some[0]).tolist(), _first_chosen_of_group(some[0], some[1]).tolist()
    ([0, 0, 0, 3, 3], [2, 2, 2, 3, 4])
    """
    groups = np.cumsum(starts) - 1
    (places,) = np.nonzero(chosen)
    with_one, first = np.unique(groups[places], return_index=True)
    at = np.full(int(groups[-1]) + 1 if len(groups) else 0, -1)
    at[with_one] = places[first]
    found: NDArray[np.int64] = np.where(at[groups] < 0, np.arange(len(groups)), at[groups])
    return found


def _compare_star_pairs(buckets: Iterable[BandMembers], similarity: Similarity) -> SimilarPairs:
    """The different pairs of first documents and members, with their similarities."""
    one, other, bands = _distinct_pairs(buckets)
    return SimilarPairs(one, other, similarity.similarities(one, other, bands))


def _distinct_pairs(buckets: Iterable[BandMembers]) -> tuple[Nodes, Nodes, NDArray[np.uint16]]:
    """Each different pair once, with one of the bands that it shares."""
    kept = (np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.uint16))
    waiting: list[BandMembers] = []

    def merged() -> tuple[Nodes, Nodes, NDArray[np.uint16]]:
        heads = np.concatenate([kept[0], *(part.heads for part in waiting)])
        nodes = np.concatenate([kept[1], *(part.nodes for part in waiting)])
        bands = np.concatenate([kept[2], *(part.bands for part in waiting)])
        by = np.lexsort((nodes, heads))  # stable: the first of equal pairs stays
        heads, nodes, bands = heads[by], nodes[by], bands[by]
        first = np.ones(len(by), np.bool_)
        first[1:] = (heads[1:] != heads[:-1]) | (nodes[1:] != nodes[:-1])
        return heads[first], nodes[first], bands[first]

    for members in buckets:
        waiting.append(members)
        if sum(len(part) for part in waiting) > max(_TOGETHER, len(kept[0])):
            kept, waiting = merged(), []
    return merged()


def _dissimilar_members(
    buckets: Iterable[BandMembers], stars: SimilarPairs, least: float
) -> tuple[BandMembers, Nodes, Nodes]:
    """The members that are not similar to the first document of their group.

    Returns:
        They; the document before each in its group; and the first member of its group that is similar, or itself.
    """
    failed = stars.less_similar(least)
    parts: list[BandMembers] = []
    befores: list[Nodes] = []
    passed: list[Nodes] = []
    for members in buckets:
        before = np.concatenate([members.heads[:1], members.nodes[:-1]])
        starts = members.group_start_flags
        before[starts] = members.heads[starts]
        far = failed.among(members)
        parts.append(members.select(far))
        befores.append(before[far])
        passed.append(members.nodes[_first_chosen_of_group(starts, ~far)][far])
    heads = np.concatenate([np.empty(0, np.uint64), *(part.heads for part in parts)])
    bands = np.concatenate([np.empty(0, np.uint16), *(part.bands for part in parts)])
    nodes = np.concatenate([np.empty(0, np.uint64), *(part.nodes for part in parts)])
    none = np.empty(0, np.uint64)
    return BandMembers(heads, bands, nodes), np.concatenate([none, *befores]), np.concatenate([none, *passed])


def _join_similar_pairs(found: Iterable[SimilarPairs], least: float) -> SimilarPairs:
    """The similar pairs of several steps, each once."""

    def similar() -> Iterator[SimilarPairs]:
        for pairs in found:
            near = pairs.similarities >= least
            yield SimilarPairs(pairs.one[near], pairs.other[near], pairs.similarities[near])

    parts = list(similar())
    one = np.concatenate([pairs.one for pairs in parts])
    other = np.concatenate([pairs.other for pairs in parts])
    values = np.concatenate([pairs.similarities for pairs in parts])
    by = np.lexsort((other, one))
    one, other, values = one[by], other[by], values[by]
    first = np.ones(len(by), np.bool_)
    first[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return SimilarPairs(one[first], other[first], values[first])
