"""One range of hashes over several snapshots, by hand."""

import numpy as np

from gristmill.stages.dedupe.comparison import Comparison, Keepers, count_first_occurrences, counts_by_power


def numbers(*found: int) -> np.ndarray:
    return np.array(found, np.uint64)


def test_two_new_snapshots_and_an_old_one() -> None:
    """New: rank 2 has hashes 1, 4 and 6; rank 3 has 4 (three times) and 7. Old: rank 0 has 6 and 7."""
    comparison = Comparison([2, 3], [(10, numbers(1, 4, 6), numbers(0, 0, 0)), (20, numbers(4, 7), numbers(0, 0))])
    times = {2: np.array([1, 1, 1]), 3: np.array([3, 1])}
    assert comparison.hi.tolist() == [1, 4, 6, 7]
    keepers = Keepers(comparison)
    comparison.add_snapshot(0, np.array([2, 3]), 1)
    keepers.add_kept_hashes(0, np.array([2, 3]), np.array([5, 6]))
    for rank, newcomer in comparison.newcomers.items():
        comparison.add_snapshot(rank, newcomer.places, times[rank])
    second, third = comparison.newcomers.values()
    assert [each.tolist() for each in keepers.find_kept_hashes(second)] == [[12], [0], [5]]
    keepers.add_kept_hashes(2, second.places, np.arange(10, 13))
    assert [each.tolist() for each in keepers.find_kept_hashes(third)] == [[20, 21], [2, 0], [11, 6]]
    assert sorted(count_first_occurrences(comparison, times)) == [(2, 0, 1), (2, 2, 2), (3, 0, 1), (3, 2, 3)]
    assert comparison.times.tolist() == [1, 4, 2, 2]
    assert counts_by_power(comparison.times).tolist() == [1, 2, 1]


def test_nothing_is_compared_without_hashes() -> None:
    comparison = Comparison([0], [(0, numbers(), numbers())])
    assert (len(comparison.hi), list(count_first_occurrences(comparison, {0: np.zeros(0, np.int64)}))) == (0, [])
    assert counts_by_power(comparison.times).tolist() == []
