"""Pieces: parts of the texts of a column, such as all lines or all words. See text/lines.py and text/words.py."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.shared import make_arrays_read_only, shared


@dataclass(frozen=True)
class Pieces:
    """P pieces of T texts, in the order of the texts. They do not overlap; there may be gaps, as between words.

    Letters in parentheses are the lengths of arrays. In the example, the text `ab` has the pieces `a` and `b`. The text
    `c` begins at 3, because in a column each text is followed by a line feed.

    Args:
        column: the texts.
        starts: offset in `column.units` where each piece begins (P).
        ends: offset where each piece ends: piece i is `column.units[starts[i]:ends[i]]` (P).
        bounds: text t has the pieces from `bounds[t]` to `bounds[t + 1]`, without the latter (T + 1).

    >>> pieces = Pieces(CodePoints.of(["ab", "c"]), np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0, 2, 3]))
    >>> pieces.counts.tolist(), pieces.texts.tolist(), pieces.lengths.tolist()
    ([2, 1], [0, 0, 1], [1, 1, 1])
    """

    column: CodePoints
    starts: Numbers
    ends: Numbers
    bounds: Numbers

    def __post_init__(self) -> None:
        make_arrays_read_only(self)

    @shared
    def counts(self) -> Numbers:
        """The number of pieces of each text (T)."""
        return np.diff(self.bounds)

    @shared
    def texts(self) -> Numbers:
        """The number of the text that each piece belongs to, counted from 0 (P)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @shared
    def lengths(self) -> Numbers:
        """The number of code points of each piece (P)."""
        return self.ends - self.starts

    def per_text(self, chosen: NDArray[np.bool_]) -> Numbers:
        """The number of the chosen pieces of each text (T); `chosen` has P entries."""
        before = np.zeros(len(chosen) + 1, np.int64)
        before[1:] = chosen
        return np.diff(np.cumsum(before, out=before)[self.bounds])  # ten times faster than from truth values

    def count_in_stretches(self, starts: Numbers, ends: Numbers) -> Numbers:
        """The number of pieces that begin in each stretch of the column (n).

        Args:
            starts: offset where each stretch begins (n).
            ends: offset where each stretch ends (n).
        """
        return np.searchsorted(self.starts, ends) - np.searchsorted(self.starts, starts)

    def marks(self) -> list[NDArray[np.int64]]:
        """The pieces of each text as spans with the score 1.

        Returns:
            For each text an array of start and end in the text, and 1, shape (n, 3) (T).
        """
        return self.spans(np.ones(len(self.starts), np.int64))

    def spans(self, scores: NDArray[Any]) -> list[NDArray[Any]]:
        """The pieces of each text as spans.

        Args:
            scores: scores of the pieces (P).

        Returns:
            For each text an array of start and end in the text, and the score of the piece: whole numbers if the scores
            are, shape (n, 3) (T).
        """
        spans = np.empty((len(scores), 3), np.float64 if scores.dtype.kind == "f" else np.int64)
        begins = self.column.bounds[self.texts]
        np.subtract(self.starts, begins, out=spans[:, 0])
        np.subtract(self.ends, begins, out=spans[:, 1])
        spans[:, 2] = scores
        return [spans[first:last] for first, last in pairwise(self.bounds.tolist())]

    def only(self, chosen: NDArray[np.bool_]) -> "Pieces":
        """The chosen pieces alone; `chosen` has P entries."""
        starts = self.starts[chosen]
        return Pieces(self.column, starts, self.ends[chosen], np.searchsorted(starts, self.column.bounds))
