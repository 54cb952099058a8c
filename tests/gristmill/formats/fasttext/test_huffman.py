import numpy as np
import pytest

from gristmill.formats.fasttext.huffman import HuffmanTree


def test_rare_labels_are_far_from_the_root() -> None:
    # 2 + 3 = 5 (node 4), then 4 + 5 = 9 (node 5), then 9 + 9 = 18 (node 6, the root).
    assert HuffmanTree.of([9, 4, 3, 2]).children == [(3, 2), (1, 4), (5, 0)]


def probabilities(tree: HuffmanTree, odds: list[float], least: float) -> dict[int, float]:
    """Those of one text, whose mean is 1: the weights are the odds."""
    weights = np.array(odds, np.float32).reshape(-1, 1)
    labels, texts, logs = tree.search(weights, np.ones((1, 1), np.float32), np.float32(np.log(least)))
    assert texts.tolist() == [0] * len(labels)
    return dict(zip(labels.tolist(), np.exp(logs).tolist(), strict=True))


def test_one_label_has_no_inner_node_and_is_certain() -> None:
    tree = HuffmanTree.of([7])
    assert tree.children == []
    assert probabilities(tree, [], 0.5) == {0: 1.0}


def test_even_odds_halve_the_probability_at_each_node() -> None:
    assert probabilities(HuffmanTree.of([5, 3, 1]), [0, 0], 0.01) == pytest.approx({0: 0.5, 1: 0.25, 2: 0.25}, abs=1e-4)


def test_below_an_unlikely_node_no_label_is_searched() -> None:
    tree = HuffmanTree.of([5, 3, 1])  # the root has the node of the labels 2 and 1, and then the label 0
    assert probabilities(tree, [0, 9], 0.1) == pytest.approx({0: 1.0}, abs=1e-3)
