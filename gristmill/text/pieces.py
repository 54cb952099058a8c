"""Pieces: consecutive parts of a column of texts, such as its lines or its words."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gristmill.text.code_points import CodePoints, Numbers


@dataclass(frozen=True)
class Pieces:
    """P pieces of T texts, in order.

    Args:
        column: the texts.
        starts, ends: piece i is `column.units[starts[i]:ends[i]]` (P).
        bounds: text t has the pieces from `bounds[t]` to before `bounds[t + 1]` (T + 1).

    >>> pieces = Pieces(CodePoints.of(["ab", "c"]), np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0, 2, 3]))
    >>> pieces.counts.tolist(), pieces.texts.tolist(), pieces.lengths.tolist()
    ([2, 1], [0, 0, 1], [1, 1, 1])
    """

    column: CodePoints
    starts: Numbers
    ends: Numbers
    bounds: Numbers

    @cached_property
    def counts(self) -> Numbers:
        """How many pieces each text has (T)."""
        return np.diff(self.bounds)

    @cached_property
    def texts(self) -> Numbers:
        """The text of each piece (P)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def lengths(self) -> Numbers:
        """How many code points each piece has (P)."""
        return self.ends - self.starts
