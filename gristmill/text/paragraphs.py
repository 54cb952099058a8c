"""Paragraphs: the lines of a column of texts that hold more than white space."""

from dataclasses import dataclass

import numpy as np

from gristmill.text.lines import Lines
from gristmill.text.pieces import Pieces
from gristmill.text.words import Words


@dataclass(frozen=True)
class Paragraphs(Pieces):
    r"""The P paragraphs of T texts: lines with a word. The line feed at its end belongs to a paragraph.

    Source: `split_paragraphs` of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, `core/utils.py`).

    Args:
        column: the texts.
        starts, ends: paragraph i is `column.units[starts[i]:ends[i]]` (P).
        bounds: text t has the paragraphs from `bounds[t]` to before `bounds[t + 1]` (T + 1).

    >>> from gristmill.text.code_points import CodePoints
    >>> column = CodePoints.of(["One.\n \nTwo.", ""])
    >>> paragraphs = Paragraphs.of(Lines.of(column), Words.of(column))
    >>> paragraphs.counts.tolist(), paragraphs.lengths.tolist(), paragraphs.spans(paragraphs.lengths)[0].tolist()
    ([2, 0], [5, 4], [[0, 5, 5], [7, 11, 4]])
    """

    @classmethod
    def of(cls, lines: Lines, words: Words) -> "Paragraphs":
        """The paragraphs of a column.

        Args:
            lines: lines of the column.
            words: words of the column.
        """
        firsts = np.append(np.searchsorted(words.starts, lines.starts), len(words.starts))
        (filled,) = np.nonzero(firsts[1:] > firsts[:-1])
        last = np.zeros(len(lines.starts), np.bool_)
        last[lines.bounds[1:] - 1] = True
        starts, ends = lines.starts[filled], lines.ends[filled] + 1
        ends -= last[filled]  # the line feed that follows a text is not of the text
        return cls(lines.column, starts, ends, np.searchsorted(starts, lines.column.bounds))
