"""HuffmanTree: the tree over the labels of a model with hierarchical softmax. Frequent labels are near its root."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gristmill.formats.fasttext.exponential import exponential
from gristmill.formats.fasttext.model_file import Floats

MOST_WORDS = 10**15
"""How often all labels together may occur: fastText takes this number for nodes that are not made yet."""

_NEVER = np.float32(-np.inf)
_LITTLE = 1e-5  # fastText adds it to each number of which it takes the logarithm


@dataclass(frozen=True)
class HuffmanTree:
    """L labels are the leaves 0 to L - 1. Node L + i has `children[i]`; the last node is the root.

    Args:
        children: for each inner node the left child and the right one (L - 1).

    >>> HuffmanTree.of([5, 3, 1]).children  # the two rarest labels, then their parent (node 3) and the label 0
    [(2, 1), (3, 0)]
    """

    children: list[tuple[int, int]]

    @classmethod
    def of(cls, counts: Sequence[int]) -> "HuffmanTree":
        """The tree of labels that occur so often, the most frequent first. All counts together are below 10**15."""
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

    def logarithms(self, outputs: Floats, least: np.float32) -> Floats:
        """The logarithm of each label's probability.

        Args:
            outputs: one number for each inner node and text: the odds for its right child, shape (L - 1, texts) or more
                rows, which are not read.
            least: below a node with a lower logarithm fastText does not search: its labels have minus infinity.

        Returns:
            Shape (L, texts).
        """
        labels = len(self.children) + 1
        right = 1.0 / (exponential(-outputs[: labels - 1]) + np.float32(1)).astype(np.float64)
        right = right.astype(np.float32).astype(np.float64)
        left = (1.0 - right).astype(np.float32).astype(np.float64)
        logs = [np.log(side + _LITTLE).astype(np.float32) for side in (left, right)]
        found = np.zeros((2 * labels - 1, outputs.shape[1]), np.float32)
        for inner in range(labels - 2, -1, -1):
            above = found[labels + inner]
            above[above < least] = _NEVER
            for child, side in zip(self.children[inner], logs, strict=True):
                np.add(above, side[inner], out=found[child])
        return found[:labels]
