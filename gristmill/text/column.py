"""TextColumn: some texts of a batch as code points, with their words and lines, computed once for all taggers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.text.characters.normalized import normalize_column
from gristmill.text.characters.scripts import is_unspaced_script
from gristmill.text.code_points import CodePoints, Numbers, columns
from gristmill.text.lines import Lines
from gristmill.text.paragraphs import Paragraphs
from gristmill.text.shared import shared
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.unicode_words import UnicodeWords
from gristmill.text.words import Words

CODE_POINTS = 500_000
"""Code points that are processed together, so that their arrays stay in the processor's cache."""


@dataclass(frozen=True)
class TextColumn:
    """T texts of a batch. What several taggers need of them is computed on first use, and kept.

    Args:
        places: the indices of the texts in their batch (T).
        points: the texts as code points.
        whole: flags of the whole text: what `unspaced` is for it, if this column has a block of it.

    >>> column = next(text_columns(["to be", "or not"]))
    >>> column.places, column.words.counts.tolist(), column.lines.counts.tolist()
    ([0, 1], [2, 2], [1, 1])
    >>> column.first_words.tolist()
    [0, 2, 4]
    """

    places: list[int]
    points: CodePoints
    whole: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None

    @cached_property
    def words(self) -> Words:
        """The words of the texts."""
        return Words.of(self.points)

    @cached_property
    def lines(self) -> Lines:
        """The lines of the texts."""
        return Lines.of(self.points)

    @cached_property
    def paragraphs(self) -> Paragraphs:
        """The lines with more than white space, each with its line feed."""
        return Paragraphs.of(self.lines, self.words)

    @cached_property
    def runs(self) -> Runs:
        """The runs of word characters, and those of other marks."""
        return Runs.of(self.points)

    @cached_property
    def unicode_words(self) -> UnicodeWords:
        """The pieces that UAX #29 divides the texts into."""
        return UnicodeWords.of(self.points)

    @cached_property
    def unspaced(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `text/characters/scripts.py`.

        Returns:
            Whether each text is in scripts without spaces (T), and in those that UAX #29 has no rules for (T).
        """
        return is_unspaced_script(self.points) if self.whole is None else self.whole

    @cached_property
    def joined(self) -> str:
        """The texts as one string, each followed by a line feed; the offsets are those of `points`."""
        units = self.points.units
        if units.itemsize == 1:
            return units.tobytes().decode("ascii")
        return units.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    @cached_property
    def lowered(self) -> str:
        """The joined texts in lower case, with the same offsets: a letter that would have two code points has one."""
        return self.joined.replace("\u0130", "\u0131").lower()

    @shared
    def first_words(self) -> Numbers:
        """The number of the first word of each line, and the number of all words at last (lines + 1).

        Line i has the words from `first_words[i]` to before `first_words[i + 1]`: no word goes on in the next line.
        """
        firsts = np.full(len(self.lines.starts) + 1, len(self.words.starts), np.int64)
        firsts[:-1] = np.searchsorted(self.words.starts, self.lines.starts)
        return firsts

    @cached_property
    def normalized(self) -> "TextColumn":
        """The texts without punctuation, in lower case, with marks apart; see `text/characters/normalized.py`."""
        return TextColumn(self.places, normalize_column(self.points, self.lines.bounds), self.unspaced)


def text_columns(texts: Sequence[str], limit: int = CODE_POINTS) -> Iterator[TextColumn]:
    """The columns of texts: ASCII texts have columns of their own. A text is never cut.

    Args:
        texts: any texts.
        limit: code points of a column; a longer text has a column for itself.
    """
    for places, points in columns(texts, limit):
        yield TextColumn(places, points)
