import numpy as np
from numpy.typing import NDArray

from gristmill.stages.near_duplicates.nodes import Nodes
from gristmill.stages.near_duplicates.pairs.candidates import BandMembers
from gristmill.stages.near_duplicates.pairs.similarity import Similarities
from gristmill.stages.near_duplicates.pairs.verified import verified


class Alike:
    """Documents are similar if their numbers have the same rest; it counts the pairs that it is asked for."""

    def __init__(self, divisor: int) -> None:
        self.divisor, self.asked = np.uint64(divisor), 0

    def of(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:
        self.asked += len(one)
        assert bands is not None
        alike: Similarities = (one % self.divisor == other % self.divisor).astype(np.float32)
        return alike


def group(nodes: list[int], band: int = 0) -> BandMembers:
    """The members of one group: the first document is the head."""
    head, *others = nodes
    return BandMembers.of(
        np.full(len(others), head, np.uint64), np.full(len(others), band, np.uint16), np.array(others, np.uint64)
    )


def pairs_of(members: list[BandMembers], alike: Alike) -> list[tuple[int, int]]:
    pairs, _ = verified(lambda: iter(members), alike, 0.5)
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
    pairs, counts = verified(lambda: iter([group(list(range(count)))]), alike, 0.5)
    assert len(pairs.one) == count - 2
    assert alike.asked == counts["compared"] < 4 * count


def test_many_kinds_in_a_heavy_band_stop_after_few_rounds() -> None:
    alike = Alike(10_000)
    pairs_of([group(list(range(20_000)))], alike)
    assert alike.asked < 7 * 20_000


def test_no_groups_have_no_pairs() -> None:
    assert pairs_of([], Alike(2)) == []
    assert pairs_of([group([5])], Alike(2)) == []
