import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.near_duplicates.nodes import (
    document_of_nodes,
    edition_source_numbers,
    nodes_of_hashes,
    rank_of_nodes,
    resolution_order_keys,
    shard_of_nodes,
    source_slots_of_ranks,
)


def test_numbers_are_in_the_order_of_rank_shard_and_document() -> None:
    ranks = np.array([0, 0, 0, 1])
    positions = np.array([27, 28, 1 << 32, 0], np.uint64)
    nodes, bands = nodes_of_hashes(ranks, positions, 14, "here")
    assert rank_of_nodes(nodes).tolist() == [0, 0, 0, 1]
    assert shard_of_nodes(nodes).tolist() == [0, 0, 1, 0]
    assert document_of_nodes(nodes).tolist() == [1, 2, 0, 0]
    assert bands.tolist() == [13, 0, 0, 0]
    assert sorted(nodes.tolist()) == nodes.tolist()


@pytest.mark.parametrize("position", [1 << 52, (1 << 32) - 1])
def test_more_shards_or_documents_than_the_bits_hold_are_refused(position: int) -> None:
    with pytest.raises(DataError, match=r"here: near duplicates are compared among at most [\d,]+ (shards|documents)"):
        nodes_of_hashes(0, np.array([position], np.uint64), 1, "here")


def test_editions_take_the_place_of_the_first_one() -> None:
    order = Order().with_round([("wiki", "1", True), ("news", "1", False)])
    order = order.with_round([("wiki", "2", True), ("news", "2", False)])
    assert source_slots_of_ranks(order) == [0, 1, 0, 3]
    assert edition_source_numbers(order).tolist() == [0, -1, 0, -1]
    nodes, _ = nodes_of_hashes(np.array([1, 2]), np.array([5, 5], np.uint64), 1, "here")
    assert np.argsort(resolution_order_keys(nodes, source_slots_of_ranks(order))).tolist() == [1, 0]
