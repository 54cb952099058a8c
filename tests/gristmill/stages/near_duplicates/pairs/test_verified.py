import numpy as np
from numpy.typing import NDArray

from gristmill.stages.near_duplicates.nodes import Nodes
from gristmill.stages.near_duplicates.pairs.candidates import BandMembers
from gristmill.stages.near_duplicates.pairs.similarity import Similarities
from gristmill.stages.near_duplicates.pairs.verified import verify_pairs


class Alike:
    """Documents are similar if their numbers have the same rest; it counts the pairs that it is asked for."""

    def __init__(self, divisor: int) -> None:
        self.divisor, self.asked = np.uint64(divisor), 0

    def similarities(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:
        self.asked += len(one)
        assert bands is not None
        alike: Similarities = (one % self.divisor == other % self.divisor).astype(np.float32)
        return alike


class Listed:
    """The documents of the pairs that it is given are similar, and no others; it lists the pairs that it compares."""

    def __init__(self, *pairs: tuple[int, int]) -> None:
        self.pairs = set(pairs)
        self.asked: list[tuple[int, int]] = []

    def similarities(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:  # noqa: ARG002
        given = list(zip(one.tolist(), other.tolist(), strict=True))
        self.asked += given
        return np.array([pair in self.pairs for pair in given], np.float32)


def group(nodes: list[int], band: int = 0) -> BandMembers:
    """The members of one group: the first document is the head."""
    head, *others = nodes
    return BandMembers.from_members(
        np.full(len(others), head, np.uint64), np.full(len(others), band, np.uint16), np.array(others, np.uint64)
    )


def pairs_of(members: list[BandMembers], alike: Alike) -> list[tuple[int, int]]:
    pairs, _ = verify_pairs(lambda: iter(members), alike, 0.5)
    return list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True))


def test_those_that_are_not_similar_to_the_first_are_compared_among_each_other() -> None:
    """3 and 4 fail against 0, 4 against 3 before it; then 3 is compared with 4, 6, 7 and so on."""
    alike = Alike(3)
    assert pairs_of([group([0, 3, 4, 5, 6, 7, 8])], alike) == [(0, 3), (0, 6), (4, 7), (5, 8)]


def test_a_document_is_compared_with_the_one_before_it_in_its_group() -> None:
    assert pairs_of([group([0, 4, 7])], Alike(3)) == [(4, 7)]


def test_equal_pairs_of_many_bands_are_compared_once() -> None:
    alike = Alike(1)
    assert pairs_of([group([1, 2], band) for band in range(14)], alike) == [(1, 2)]
    assert alike.asked == 1


def test_a_heavy_band_is_linear() -> None:
    """100,000 documents share a band: half of them are like the first, the others like each other."""
    count = 100_000
    alike = Alike(2)
    pairs, counts = verify_pairs(lambda: iter([group(list(range(count)))]), alike, 0.5)
    assert len(pairs.one) == count - 2
    assert alike.asked == counts["compared"] < 4 * count


def test_many_kinds_in_a_heavy_band_stop_after_few_rounds() -> None:
    alike = Alike(10_000)
    pairs_of([group(list(range(20_000)))], alike)
    assert alike.asked < 7 * 20_000


def test_by_rule_2_those_that_fail_are_compared_with_the_first_that_passed_too() -> None:
    """1 and 5 are similar to 0, and 3 to 5; 4 to 1, though not to 0, nor to 3 before it."""
    near = [(0, 1), (0, 5), (1, 4), (3, 5)]
    for rule, expected in ((1, [(0, 1), (0, 5)]), (2, [(0, 1), (0, 5), (1, 4)])):
        alike = Listed(*near)
        pairs, counts = verify_pairs(lambda: iter([group([0, 1, 2, 3, 4, 5])]), alike, 0.5, rule)
        assert list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)) == expected
        assert len(alike.asked) == counts["compared"]
        assert ((1, 4) in alike.asked) == (rule == 2)


def test_by_rule_2_a_document_before_the_first_that_passed_is_compared_with_it() -> None:
    alike = Listed((0, 3), (1, 3))
    pairs, _ = verify_pairs(lambda: iter([group([0, 1, 2, 3])]), alike, 0.5, 2)
    assert list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)) == [(0, 3), (1, 3)]


def test_by_rule_2_a_round_has_a_first_that_passed_too() -> None:
    """None is similar to 0. In the first round 3 is similar to 1, and 5 to 3, of which 4 is before it."""
    for rule, expected in ((1, [(1, 3)]), (2, [(1, 3), (3, 5)])):
        pairs, _ = verify_pairs(lambda: iter([group([0, 1, 2, 3, 4, 5])]), Listed((1, 3), (3, 5)), 0.5, rule)
        assert list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)) == expected


def test_rule_2_is_linear_too() -> None:
    alike = Alike(10_000)
    verify_pairs(lambda: iter([group(list(range(20_000)))]), alike, 0.5, 2)
    assert alike.asked < 11 * 20_000


def test_no_groups_have_no_pairs() -> None:
    assert pairs_of([], Alike(2)) == []
    assert pairs_of([group([5])], Alike(2)) == []
