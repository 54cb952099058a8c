"""The order of a dedupe recipe."""

import msgspec
import pytest

from gristmill.errors import DataError
from gristmill.stages.fingerprints.order import Order, order_path, parse_order, round_key


def test_a_round_comes_after_all_that_were_there() -> None:
    order = Order().with_round([("wiki", "a", False), ("news", "b", True)]).with_round([("wiki", "0", False)])
    assert [(each.source, each.snapshot, each.round) for each in order.entries] == [
        ("wiki", "a", 1),
        ("news", "b", 1),
        ("wiki", "0", 2),
    ]
    assert (order.rounds, order.of_round(1), order.of_round(2)) == (2, [0, 1], [2])
    assert parse_order(msgspec.json.encode(order), "x") == order
    assert (order_path("lines-1"), round_key(2)) == ("dedupe/lines-1/order.json", "r00002")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"entries":[{"source":"a","snapshot":"b","round":"1"}]}'])
def test_what_is_no_order_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="restore it"):
        parse_order(data, "dedupe/x/order.json")


def test_a_snapshot_has_one_rank_and_rounds_ascend() -> None:
    twice = Order().with_round([("wiki", "a", False), ("wiki", "a", False)])
    mixed = Order(tuple(reversed(Order().with_round([("w", "a", False)]).with_round([("w", "b", False)]).entries)))
    for order in (twice, mixed):
        with pytest.raises(DataError, match="named twice"):
            parse_order(msgspec.json.encode(order), "x")
