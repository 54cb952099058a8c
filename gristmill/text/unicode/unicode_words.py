"""UnicodeWords: the pieces that UAX #29 divides texts into: words, and what is between them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import SPACE, CodePoints, Numbers
from gristmill.text.pieces import Pieces
from gristmill.text.shared import shared
from gristmill.text.unicode.tables import Flags, look_up_flags, property_table

# The lower eight bits are all that matters between ASCII characters: `look_up_flags` gives a column of bytes no others.
_LETTER, _NUMERIC, _CONNECTOR, _MID_LETTER, _MID_NUMBER, _BLANK, _NEWLINE = 1, 2, 4, 8, 16, 32, 64
_HEBREW, _KATAKANA, _SINGLE_QUOTE, _DOUBLE_QUOTE, _IGNORED, _PICTOGRAPH, _REGIONAL = (
    256,
    512,
    1024,
    2048,
    4096,
    8192,
    16384,
)

_BITS = {
    "ALetter": _LETTER,
    "Hebrew_Letter": _LETTER | _HEBREW,
    "Numeric": _NUMERIC,
    "Katakana": _KATAKANA,
    "ExtendNumLet": _CONNECTOR,
    "MidLetter": _MID_LETTER,
    "MidNum": _MID_NUMBER,
    "MidNumLet": _MID_LETTER | _MID_NUMBER,
    "Single_Quote": _MID_LETTER | _MID_NUMBER | _SINGLE_QUOTE,
    "Double_Quote": _DOUBLE_QUOTE,
    "WSegSpace": _BLANK,
    **dict.fromkeys(("CR", "LF", "Newline"), _NEWLINE),
    **dict.fromkeys(("Extend", "Format", "ZWJ"), _IGNORED),
    "Extended_Pictographic": _PICTOGRAPH,
    "Regional_Indicator": _REGIONAL,
}
_CR, _LF, _ZWJ = 0x0D, 0x0A, 0x200D
_NARROW_SPACE = 0x202F  # the only white space that belongs to words


@dataclass(frozen=True)
class UnicodeWords(Pieces):
    """The pieces of T texts between word boundaries of UAX #29: words, single marks, and runs of spaces.

    Nothing is left out: the pieces of a text, joined, are the text. Chinese characters and hiragana are pieces of one
    character. Thai, Lao, Khmer and Burmese need dictionaries that the standard does not have; their pieces mean little.

    Source: Unicode Standard Annex #29, Word Boundaries, revision 45. Pieces are equal to those of the package `uniseg`
    0.10.1 (`uniseg.wordbreak.words`) for texts of characters of Unicode 14.0; each later character is a piece.

    Args:
        column: the texts.
        starts, ends: piece i is `column.units[starts[i]:ends[i]]`.
        bounds: text t has the pieces from `bounds[t]` to before `bounds[t + 1]` (T + 1).

    >>> pieces = UnicodeWords.of(CodePoints.of(["can't  pay 3.50", "日本"]))
    >>> pieces.counts.tolist(), pieces.lengths.tolist(), pieces.has_ink.tolist()
    ([5, 2], [5, 2, 3, 1, 4, 1, 1], [True, False, True, False, True, True, True])
    """

    @classmethod
    def of(cls, column: CodePoints) -> "UnicodeWords":
        """The pieces of a column."""
        breaks = _is_word_boundary(column.units, look_up_flags(column.units, _word_break_table()))
        closings = column.bounds[1:] - 1
        breaks[closings] = True
        (edges,) = np.nonzero(breaks)
        piece = np.ones(len(edges), np.bool_)
        piece[np.searchsorted(edges, closings)] = False
        (kept,) = np.nonzero(piece)
        starts = edges.take(kept)  # five times faster than by truth values
        return cls(column, starts, edges.take(kept + 1), np.searchsorted(starts, column.bounds))

    @shared
    def has_ink(self) -> NDArray[np.bool_]:
        """Whether each piece has more than white space (P)."""
        if not len(self.starts):
            return np.zeros(0, np.bool_)
        black = (self.column.kinds & SPACE) == 0
        filled: NDArray[np.bool_] = black.take(self.starts)
        if self.column.units.itemsize == 1:
            return filled
        (others,) = np.nonzero(~filled & (self.lengths > 1))  # after a space, a piece may have a combining mark
        if others.size:
            lengths = self.lengths[others]
            firsts = np.cumsum(lengths) - lengths
            inside = np.repeat(self.starts[others] - firsts, lengths) + np.arange(int(lengths.sum()))
            filled[others] = np.logical_or.reduceat(black[inside], firsts)
        return filled

    def count_pieces_within(self, starts: Numbers, ends: Numbers, *, filled: bool = False) -> Numbers:
        """How many pieces each stretch of the column has if it is divided alone.

        Args:
            starts: offset where each stretch begins. Before it there is only white space in its text or line (n).
            ends: offset where each ends. After it there is only white space in its text or line (n).
            filled: whether pieces of white space are left out.

        Returns:
            Shape (n,).
        """
        places = self.starts.take(np.flatnonzero(self.has_ink)) if filled else self.starts
        counts = np.searchsorted(places, ends) - np.searchsorted(places, starts, side="right") + 1
        counts[ends == starts] = 0
        units = self.column.units
        for number in np.flatnonzero((units[starts - 1] == _NARROW_SPACE) & (ends > starts)):
            stretch = units[starts[number] : ends[number]].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
            alone = UnicodeWords.of(CodePoints.of([stretch]))
            counts[number] = alone.has_ink.sum() if filled else alone.counts[0]
        return counts


@cache
def _word_break_table() -> Flags:
    return property_table("word_break.txt", _BITS)


def _is_word_boundary(units: NDArray[Any], flags: Flags) -> NDArray[np.bool_]:
    """For each code point whether there is a boundary before it. Names of rules are those of UAX #29."""
    breaks = np.ones(len(units), np.bool_)
    ignored = np.flatnonzero(_has_any_bits(flags, _IGNORED)) if flags.itemsize > 1 else np.zeros(0, np.int64)
    if ignored.size:  # WB4
        breaks[ignored[ignored > 0]] = _has_any_bits(flags[ignored[ignored > 0] - 1], _NEWLINE)
        kept = np.flatnonzero(~_has_any_bits(flags, _IGNORED))
        breaks[kept.take(np.flatnonzero(_is_joined_to_previous(flags.take(kept))) + 1)] = False
        (joiners,) = np.nonzero(units[:-1] == _ZWJ)
        breaks[joiners[_has_any_bits(flags[joiners + 1], _PICTOGRAPH)] + 1] = False  # WB3c
    else:
        np.logical_not(_is_joined_to_previous(flags), out=breaks[1:])
    blank = _has_any_bits(flags, _BLANK)
    breaks[1:] &= ~(blank[1:] & blank[:-1])  # WB3d
    (returns,) = np.nonzero(units[:-1] == _CR)
    breaks[returns[units[returns + 1] == _LF] + 1] = False  # WB3
    return breaks


def _is_joined_to_previous(flags: Flags) -> NDArray[np.bool_]:
    """Whether there is no boundary before the second code point, the third, ..., by the rules WB5 to WB16.

    Args:
        flags: of code points that are not ignored.
    """
    word = _has_any_bits(flags, _LETTER | _NUMERIC)
    joined: NDArray[np.bool_] = word[:-1] & word[1:]  # WB5, WB8, WB9, WB10
    (connectors,) = np.nonzero(_has_any_bits(flags, _KATAKANA | _CONNECTOR))
    if connectors.size:  # WB13, WB13a, WB13b
        some = _LETTER | _NUMERIC | _KATAKANA | _CONNECTOR
        for place in (connectors[connectors > 0], connectors[connectors < len(flags) - 1] + 1):
            left, right = flags[place - 1], flags[place]
            both = _has_any_bits(left, some) & _has_any_bits(right, some)
            both &= _has_any_bits(left | right, _CONNECTOR) | _has_any_bits(left & right, _KATAKANA)
            joined[place[both] - 1] = True
    (middles,) = np.nonzero(_has_any_bits(flags[1:-1], _MID_LETTER | _MID_NUMBER | _DOUBLE_QUOTE))
    left, middle, right = flags[middles], flags[middles + 1], flags[middles + 2]
    for side, mid in ((_LETTER, _MID_LETTER), (_NUMERIC, _MID_NUMBER), (_HEBREW, _DOUBLE_QUOTE)):
        inside = middles[_has_any_bits(left, side) & _has_any_bits(middle, mid) & _has_any_bits(right, side)]
        joined[inside] = joined[inside + 1] = True  # WB6 and WB7, WB11 and WB12, WB7b and WB7c
    joined[middles[_has_any_bits(left, _HEBREW) & _has_any_bits(middle, _SINGLE_QUOTE)]] = True  # WB7a
    flagged = np.flatnonzero(_has_any_bits(flags, _REGIONAL)) if flags.itemsize > 1 else middles[:0]
    if flagged.size:  # WB15, WB16: every second one of a run
        first = np.append(True, np.diff(flagged) != 1)
        number = np.arange(len(flagged))
        second = (number - np.maximum.accumulate(np.where(first, number, 0))) % 2 == 1
        joined[flagged[second] - 1] = True
    return joined


def _has_any_bits(flags: Flags, bits: int) -> NDArray[np.bool_]:
    """Whether each has some of the bits."""
    answers: NDArray[np.bool_] = (flags & (bits & np.iinfo(flags.dtype).max)) != 0
    return answers
