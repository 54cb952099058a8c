"""Neighbouring numbers in ranges."""

import pytest

from gristmill.stages.dedupe.neighbours import neighbours


@pytest.mark.parametrize(
    ("weights", "most", "ranges"),
    [
        ({}, 1, []),
        ({3: 0}, 0, [(3, 4)]),
        ({0: 1, 1: 1, 2: 1}, 2, [(0, 2), (2, 3)]),
        ({0: 1, 2: 1, 3: 1}, 9, [(0, 1), (2, 4)]),
        ({0: 9, 1: 9}, 1, [(0, 1), (1, 2)]),
        ({0: 0, 1: 0, 2: 5, 3: 0}, 5, [(0, 4)]),
    ],
)
def test_ranges_have_no_gap_and_weigh_no_more(
    weights: dict[int, int], most: int, ranges: list[tuple[int, int]]
) -> None:
    assert list(neighbours(weights, most)) == ranges
