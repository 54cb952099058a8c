import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.stages.near_duplicates.components import connected_components

EDGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)


def by_steps(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """Moves the least number along edges until nothing changes."""
    least = list(range(count))
    while True:
        before = list(least)
        for one, other in edges:
            least[one] = least[other] = min(least[one], least[other])
        if least == before:
            return least


@given(EDGES)
@settings(max_examples=draws(100))
def test_components_are_those_that_single_steps_find(edges: list[tuple[int, int]]) -> None:
    one, other = (np.array([edge[end] for edge in edges], np.int64) for end in (0, 1))
    assert connected_components(31, one, other).tolist() == by_steps(31, edges)


def test_a_long_path_and_a_wide_star_in_the_worst_order() -> None:
    size = 200_000
    shuffled = np.random.default_rng(3).permutation(size)
    assert not connected_components(size, shuffled[:-1], shuffled[1:]).any()
    assert not connected_components(size, np.full(size - 1, size - 1), np.arange(size - 1)).any()
