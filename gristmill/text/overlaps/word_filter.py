"""A quick look at many texts: which may have an n-gram or a line of an index. It has no false negatives.

It hashes words by their first eight bytes and their length, so different n-grams may have one hash.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gristmill.text.code_points import Hashes, Numbers
from gristmill.text.overlaps.quick_words import words_bytes
from gristmill.text.overlaps.text_words import word_edges
from gristmill.text.units.utf8_column import encoded_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINE_FEED = 10
_FACTOR = 0x9E3779B97F4A7C15
_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
_GOLDEN = np.uint64(_FACTOR)
_SHIFT = np.uint64(29)
_MASKS = np.array([(1 << (8 * count)) - 1 for count in range(9)], np.uint64)
_SPARSE, _LARGEST = 6, 24
"""The table has 2**6 places for each hash, and 2**24 at most."""


def filter_hashes(data: bytes, length: int) -> tuple[Numbers, Hashes, Numbers, Hashes]:
    """The hashes of the n-grams and the lines of normalised texts.

    Args:
        data: texts in `words-1`, in UTF-8.
        length: words of an n-gram.

    Returns:
        Where each n-gram begins, in bytes, and its hash; where each line with a word ends, and its hash.
    """
    starts, ends = word_edges(data)
    words = _word_hashes(data, starts, ends)
    feeds = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED)
    lines = np.append(feeds, len(data))
    firsts = np.concatenate([[0], np.searchsorted(starts, feeds)])
    some = np.flatnonzero(np.diff(np.append(firsts, len(starts))))
    sums = np.add.reduceat(words, firsts[some]) if len(some) else words[:0]
    grams = _word_run_hashes(words, length)
    return starts[: len(grams)], grams, lines[some], sums


def _word_hashes(data: bytes, starts: Numbers, ends: Numbers) -> Hashes:
    chunks: Hashes = np.ndarray((len(data) + 1,), "<u8", buffer=data + bytes(8), strides=(1,))
    lengths = ends - starts
    values = chunks[starts]
    values &= _MASKS.take(lengths, mode="clip")
    values += lengths.view(np.uint64)
    values *= _ODD
    values ^= values >> _SHIFT
    values *= _GOLDEN
    return values


def _word_run_hashes(words: Hashes, length: int) -> Hashes:
    """A hash of each run of `length` words, from sums of runs of 1, 2, 4, ... words."""
    if len(words) < length:
        return words[:0]
    count = len(words) - length + 1
    total = np.zeros(count, np.uint64)
    taken, size, level = 0, 1, words
    while True:
        if length & size:
            total *= np.uint64(pow(_FACTOR, size, 1 << 64))
            at = length - taken - size  # from the end, so that each level is read once
            total += _place_in_table(level[at : at + count], taken)
            taken += size
        if 2 * size > length:
            return total
        level = level[:-size] * np.uint64(pow(_FACTOR, size, 1 << 64)) + level[size:]
        size *= 2


def _place_in_table(values: Hashes, taken: int) -> Hashes:
    return values * np.uint64(pow(_FACTOR, 2 * taken + 1, 1 << 64))


class WordFilter:
    """Finds the texts that may have an n-gram or a line.

    Args:
        length: words of an n-gram.
        grams: hashes of n-grams (n), as filter_hashes() gives them.
        lines: hashes of lines (m).
    """

    def __init__(self, length: int, grams: Hashes, lines: Hashes) -> None:
        self._length = length
        self._grams, self._lines = _Table(grams), _Table(lines)

    def among(self, texts: Sequence[str]) -> Numbers:
        """The numbers of the texts that may have one, ascending (n).

        Args:
            texts: any texts.
        """
        data = words_bytes(encoded_text("\n".join(texts)))
        starts, grams, ends, lines = filter_hashes(data, self._length)
        places = np.concatenate([starts[self._grams.have(grams)], ends[self._lines.have(lines)]])
        if not len(places):
            return places
        feeds = np.append(np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED), len(data))
        last = np.cumsum([text.count("\n") + 1 for text in texts]) - 1
        return np.unique(np.searchsorted(feeds[last], places))


class _Table:
    """A set of hashes that is asked for many: a table of their highest bits before the search."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = np.unique(hashes)
        bits = min((max(len(self._hashes), 1) << _SPARSE).bit_length(), _LARGEST)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, np.bool_)
        self._table[(self._hashes >> self._shift).view(np.int64)] = True

    def have(self, hashes: Hashes) -> Numbers:
        """The numbers of the hashes that are in the set, ascending."""
        (near,) = np.nonzero(self._table.take((hashes >> self._shift).view(np.int64)))
        if not len(near) or not len(self._hashes):
            return near[:0]
        asked = hashes[near]
        at = np.minimum(np.searchsorted(self._hashes, asked), len(self._hashes) - 1)
        found: NDArray[np.bool_] = self._hashes[at] == asked
        return near[found]
