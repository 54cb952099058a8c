"""Runs: the runs of word characters and the runs of other marks in a column of texts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import CodePoints
from gristmill.text.pieces import Pieces
from gristmill.text.unicode.tables import SPACE, WORD, character_flags, look_up_flags


@dataclass(frozen=True)
class Runs(Pieces):
    r"""The matches of `\w+|[^\w\s]+` in T texts, with the classes of the package `regex` for Unicode 14.0.

    Args:
        column: the texts.
        starts, ends: run i is `column.units[starts[i]:ends[i]]`.
        bounds: text t has the runs from `bounds[t]` to before `bounds[t + 1]` (T + 1).
        are_words: whether each run is one of word characters.

    >>> runs = Runs.of(CodePoints.of(["can't stop!!", ""]))
    >>> runs.counts.tolist(), runs.lengths.tolist()
    ([5, 0], [3, 1, 1, 4, 2])
    """

    are_words: NDArray[np.bool_]

    @classmethod
    def of(cls, column: CodePoints) -> "Runs":
        """The runs of a column."""
        kinds = look_up_flags(column.units, character_flags()) & (WORD | SPACE)
        (changes,) = np.nonzero(kinds[1:] != kinds[:-1])
        edges = np.append(0, changes + 1)
        begun = kinds.take(edges)
        (inside,) = np.nonzero(begun != SPACE)
        # The last code point of a column is a line feed, so each run has an edge after it.
        starts = edges.take(inside)
        words = (begun.take(inside) & WORD) != 0
        return cls(column, starts, edges.take(inside + 1), np.searchsorted(starts, column.bounds), words)
