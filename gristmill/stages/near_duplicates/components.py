"""Connected components of a graph, computed on whole arrays."""

import numpy as np

from gristmill.text.code_points import Numbers


def connected_components(count: int, one: Numbers, other: Numbers) -> Numbers:
    """The least node of the connected component of each node of a graph (count).

    Each tree of nodes is hung below the least node that an edge joins it to. Then each node is moved to the root of its
    tree. The number of trees falls by half in two rounds at least, so there are few rounds.

    Args:
        count: number of nodes.
        one: an end of each edge (e).
        other: the other end of each edge (e).

    >>> connected_components(6, np.array([5, 1, 4]), np.array([3, 4, 1])).tolist()
    [0, 1, 2, 3, 1, 3]
    """
    roots = np.arange(count)
    while len(one):
        ends, others = roots[one], roots[other]
        low, high = np.minimum(ends, others), np.maximum(ends, others)
        (apart,) = np.nonzero(low != high)
        if not len(apart):
            break
        one, other, low, high = one[apart], other[apart], low[apart], high[apart]
        np.minimum.at(roots, high, low)
        while True:
            up = roots[roots]
            if np.array_equal(up, roots):
                break
            roots = up
    return roots
