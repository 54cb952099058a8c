"""Neighbouring numbers in ranges."""

import msgspec
import pytest

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.plan import Target, Want
from gristmill.lake.address import place
from gristmill.lake.ledger.model import Recipe
from gristmill.stages.dedupe.neighbours import Neighbours, NeighboursPlan, neighbour_ranges


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
    assert list(neighbour_ranges(weights, most)) == ranges


def test_missing_neighbours_are_one_item_that_has_the_name_of_the_last() -> None:
    where = place("dedupe/d/runs/s", "2024")
    target = Target(where, Recipe("d", 1, {}), (), tuple(Want(name, ()) for name in "abcd"))
    plan = NeighboursPlan(target, OneAssetSpec, sizes=(1, 2, 3, 4), most=5, hash_bytes=16)
    wants = [want for want in target.wants if want.name != "b"]
    items = plan.items({where.asset: wants}, {})
    assert [(item.name, item.weight) for item in items] == [("a", 16), ("c", 48), ("d", 64)]
    assert [msgspec.json.decode(item.body, type=Neighbours) for item in items] == [
        Neighbours(0, 1),
        Neighbours(2, 3),
        Neighbours(3, 4),
    ]
    (item,) = plan.items({where.asset: target.wants[:2]}, {})
    assert (item.name, item.weight) == ("b", 48)
