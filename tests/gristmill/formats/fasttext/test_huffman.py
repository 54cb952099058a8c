import numpy as np

from gristmill.formats.fasttext.huffman import HuffmanTree


def test_rare_labels_are_far_from_the_root() -> None:
    # 2 + 3 = 5 (node 4), then 4 + 5 = 9 (node 5), then 9 + 9 = 18 (node 6, the root).
    assert HuffmanTree.of([9, 4, 3, 2]).children == [(3, 2), (1, 4), (5, 0)]


def test_one_label_has_no_inner_node_and_is_certain() -> None:
    tree = HuffmanTree.of([7])
    assert tree.children == []
    assert tree.logarithms(np.zeros((1, 2), np.float32), np.float32(-5)).tolist() == [[0, 0]]


def test_even_odds_halve_the_probability_at_each_node() -> None:
    tree = HuffmanTree.of([5, 3, 2])
    logs = tree.logarithms(np.zeros((3, 1), np.float32), np.float32(-5))[:, 0]
    np.testing.assert_allclose(np.exp(logs), [0.5, 0.25, 0.25], atol=1e-4)


def test_below_an_unlikely_node_no_label_is_searched() -> None:
    tree = HuffmanTree.of([5, 3, 2])
    logs = tree.logarithms(np.array([[0], [9]], np.float32), np.float32(np.log(0.1)))  # the root says: label 0
    assert logs[0, 0] > -0.01
    assert logs[1:, 0].tolist() == [-np.inf, -np.inf]
