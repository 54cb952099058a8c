"""HuffmanTree: the tree over the labels of a model with hierarchical softmax. Frequent labels are near its root."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.formats.fasttext.exponential import Floats, exponential

Found = tuple[NDArray[np.int64], NDArray[np.int64], Floats]

_LITTLE = 1e-5  # fastText adds it to each number of which it takes the logarithm


@dataclass(frozen=True)
class HuffmanTree:
    """L labels are the leaves 0 to L - 1. Node L + i has `children[i]`; the last node is the root.

    Args:
        children: left child and right child of each inner node (L - 1).

    >>> HuffmanTree.of([5, 3, 1]).children  # the two rarest labels, then their parent (node 3) and the label 0
    [(2, 1), (3, 0)]
    """

    children: list[tuple[int, int]]

    @classmethod
    def of(cls, counts: Sequence[int]) -> "HuffmanTree":
        """The tree of labels that occur so often, the most frequent first."""
        labels = len(counts)
        weights = list(counts)
        children: list[tuple[int, int]] = []
        leaf, node = labels - 1, labels
        for _ in range(labels - 1):
            pair: list[int] = []
            for _ in range(2):
                if leaf >= 0 and (node == len(weights) or weights[leaf] < weights[node]):
                    pair.append(leaf)
                    leaf -= 1
                else:
                    pair.append(node)
                    node += 1
            children.append((pair[0], pair[1]))
            weights.append(weights[pair[0]] + weights[pair[1]])
        return cls(children)

    def search(self, weights: Floats, means: Floats, least: np.float32) -> Found:
        """The labels of each text whose probability is not too low. Only the nodes above such labels are looked at.

        Args:
            weights: row i, with a text's mean, gives the odds for the right child of inner node i (L, D).
            means: the mean vector of each text (T, D).
            least: below a node with a lower logarithm fastText does not search.

        Returns:
            Label, text, and logarithm of the probability, one of each for each label that was found.
        """
        labels = len(self.children) + 1
        children = np.array(self.children, np.int64).reshape(-1, 2)
        texts = np.arange(len(means))
        nodes = np.full(len(means), 2 * labels - 2)
        logs = np.zeros(len(means), np.float32)
        found: list[Found] = []
        while len(nodes):
            leaves = nodes < labels
            found.append((nodes[leaves], texts[leaves], logs[leaves]))
            inner = ~leaves
            nodes, texts, logs = nodes[inner] - labels, texts[inner], logs[inner]
            sides = _sides(weights.take(nodes, axis=0) * means.take(texts, axis=0))
            logs = np.concatenate([logs + side for side in sides])
            nodes, texts = children[nodes].T.ravel(), np.concatenate([texts, texts])
            alive = logs >= least
            nodes, texts, logs = nodes[alive], texts[alive], logs[alive]
        parts = [np.concatenate(part) for part in zip(*found, strict=True)]
        return parts[0], parts[1], parts[2]


def _sides(products: Floats) -> tuple[Floats, Floats]:
    """The logarithms of the probabilities of the left and the right child; a row's sum is the odds."""
    odds = np.zeros(len(products), np.float32)
    for column in products.T:
        odds += column  # in fastText's order
    right = (1.0 / (exponential(-odds) + np.float32(1)).astype(np.float64)).astype(np.float32).astype(np.float64)
    left = (1.0 - right).astype(np.float32).astype(np.float64)
    return np.log(left + _LITTLE).astype(np.float32), np.log(right + _LITTLE).astype(np.float32)
