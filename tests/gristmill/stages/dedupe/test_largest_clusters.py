"""The largest clusters over several rounds: what is added, what is equal, and places that nobody has."""

import pytest

from gristmill.errors import DataError
from gristmill.stages.dedupe.largest_clusters import LargestCluster, largest_clusters
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.fingerprints.repeated_unit import LARGEST, RepeatedUnit

ORDER = Order().with_round([("wiki", "a", False)]).with_round([("news", "b", False)])
SHARDS = (("s", "t"), ("u",))


def test_new_occurrences_of_all_rounds_are_added_and_the_first_place_is_named() -> None:
    found = [
        RepeatedUnit("aa", 3, 3, 0, 1 << 32 | 5),
        RepeatedUnit("bb", 4, 4, 0, 7),
        RepeatedUnit("aa", 3, 2, 1, 0),  # two new ones, and one earlier snapshot
        RepeatedUnit("cc", 9, 1, 1, 2),  # eight earlier snapshots have it, but no earlier round names it
    ]
    assert largest_clusters(found, ORDER, SHARDS, "here") == (
        LargestCluster(9, "news", "b", "u", 2),
        LargestCluster(5, "wiki", "a", "t", 5),
        LargestCluster(4, "wiki", "a", "s", 7),
    )


def test_a_cluster_that_grew_has_its_last_size() -> None:
    found = [RepeatedUnit("0a", 2, 0, 0, 1), RepeatedUnit("0a", 6, 0, 0, 1)]
    assert [each.times for each in largest_clusters(found, ORDER, SHARDS, "here")] == [6]


def test_ten_are_named_and_of_equal_ones_those_with_lower_keys() -> None:
    found = [RepeatedUnit(f"{key:02x}", 2, 2, 0, key) for key in reversed(range(20))]
    assert [each.span for each in largest_clusters(found, ORDER, SHARDS, "here")] == list(range(LARGEST))


@pytest.mark.parametrize(("rank", "position"), [(2, 0), (1, 1 << 32), (-1, 0), (0, -1)])
def test_a_place_that_no_snapshot_has_is_refused(rank: int, position: int) -> None:
    with pytest.raises(DataError, match="here: names a place that no snapshot of the order has"):
        largest_clusters([RepeatedUnit("aa", 2, 2, rank, position)], ORDER, SHARDS, "here")
