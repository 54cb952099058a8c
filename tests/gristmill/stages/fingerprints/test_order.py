"""The order of a dedupe recipe."""

import msgspec
import pytest

from gristmill.errors import DataError
from gristmill.stages.fingerprints.order import (
    Order,
    Ranked,
    dedupe_order_path,
    parse_dedupe_order,
    round_partition_key,
)


def test_a_round_comes_after_all_that_were_there() -> None:
    order = Order().with_round([("wiki", "a", False), ("news", "b", True)]).with_round([("wiki", "0", False)])
    assert [(each.source, each.snapshot, each.round) for each in order.entries] == [
        ("wiki", "a", 1),
        ("news", "b", 1),
        ("wiki", "0", 2),
    ]
    assert (order.round_count, order.ranks_of_round(1), order.ranks_of_round(2)) == (2, [0, 1], [2])
    assert parse_dedupe_order(msgspec.json.encode(order), "x") == order
    assert (dedupe_order_path("lines-1"), round_partition_key(2)) == ("dedupe/lines-1/order.json", "r00002")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"entries":[{"source":"a","snapshot":"b","round":"1"}]}'])
def test_what_is_no_order_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="restore it"):
        parse_dedupe_order(data, "dedupe/x/order.json")


def test_a_snapshot_has_one_rank() -> None:
    twice = Order().with_round([("wiki", "a", False), ("wiki", "a", False)])
    with pytest.raises(DataError, match="named twice"):
        parse_dedupe_order(msgspec.json.encode(twice), "x")


@pytest.mark.parametrize("rounds", [(0,), (-1,), (2,), (1, 3), (2, 1), (1, 10**9)])
def test_rounds_are_counted_from_one_without_a_gap(rounds: tuple[int, ...]) -> None:
    order = Order(tuple(Ranked("wiki", str(number), each) for number, each in enumerate(rounds)))
    with pytest.raises(DataError, match="its rounds are not 1, 2, 3"):
        parse_dedupe_order(msgspec.json.encode(order), "x")


def test_an_order_of_another_schema_says_so() -> None:
    with pytest.raises(DataError, match="schema 2"):
        parse_dedupe_order(msgspec.json.encode(Order(schema=2)), "x")
