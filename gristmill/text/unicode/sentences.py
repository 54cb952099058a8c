"""Sentences: how many sentences texts have, by marks that end them. No language is known, and no abbreviation."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import BREAK, CodePoints, Numbers
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.tables import SPACE, character_flags, look_up_flags

# Full stop, exclamation and question marks, ellipsis; those of Armenian, Arabic, Devanagari, Burmese, Ethiopic, Khmer.
_ENDS = ".!?\u2026\u203c\u203d\u2047\u2048\u2049\u0589\u061f\u06d4\u0964\u0965\u104b\u1362\u1367\u17d4\u17d5"
_FULL = "\u3002\uff01\uff0e\uff1f\uff61"  # of Chinese and Japanese: no space follows
_CLOSING = "\"')]}\u00bb\u2019\u201d\u203a\u300b\u300d\u300f\u3011\uff02\uff07\uff09\uff3d\uff5d"
_END, _WIDE, _CLOSER = 1, 2, 4


def sentences(column: CodePoints, runs: Runs) -> Numbers:
    r"""The number of sentences of each text.

    A sentence ends with a run of `.`, `!`, `?`, `…` and their like in other scripts, with quotes and brackets that
    close. White space must follow, except after the wide marks of Chinese and Japanese. A line feed also ends a
    sentence. What has no letter and no digit is not counted. Abbreviations are not known: `Mr. Hyde` is two sentences.

    Args:
        column: the texts.
        runs: runs of the column.

    Returns:
        Shape (texts,).

    >>> column = CodePoints.of(["“Go!” he said. So... 3.5 it was\nThe end", "...", "行け。行った。"])
    >>> sentences(column, Runs.of(column)).tolist()
    [5, 0, 2]
    """
    ends = sentence_ends(column)
    words = runs.starts.take(np.flatnonzero(runs.are_words))
    firsts = np.searchsorted(words, np.append(0, ends))  # the number of the first word after each end
    firsts = firsts[:-1][firsts[1:] > firsts[:-1]]  # the last end is that of the column
    return np.diff(np.searchsorted(words[firsts], column.bounds))


def sentence_ends(column: CodePoints) -> Numbers:
    """The places that follow a sentence or a line, ascending (n)."""
    units = column.units
    marks = look_up_flags(units, _sentence_property_table())
    (places,) = np.nonzero(marks)
    ended: NDArray[np.bool_] = (column.kinds & BREAK) != 0
    if places.size:
        first = np.append(True, np.diff(places) > 1)
        kinds = np.bitwise_or.reduceat(marks[places], np.flatnonzero(first))
        closings = places[np.append(first[1:], True)] + 1
        followed = (look_up_flags(units[closings], character_flags()) & SPACE) != 0
        ended[closings[((kinds & _WIDE) != 0) | (((kinds & _END) != 0) & followed)]] = True
    return np.flatnonzero(ended)


@cache
def _sentence_property_table() -> NDArray[Any]:
    table = np.zeros(0x110000, np.uint8)
    for signs, kind in ((_ENDS, _END), (_FULL, _END | _WIDE), (_CLOSING, _CLOSER)):
        table[[ord(sign) for sign in signs]] = kind
    return table
