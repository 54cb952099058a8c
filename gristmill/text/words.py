"""Words: the words of a column of texts, and their n-grams that repeat within a text."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.text.characters.sets import running_sums
from gristmill.text.code_points import SPACE, CodePoints, Hashes, Numbers, mix_hash_bits
from gristmill.text.pieces import Pieces
from gristmill.text.repeats import Repeats
from gristmill.text.shared import shared

_HISTOGRAM = 64  # lengths of 63 and more share the last bin; a median there is computed for each text alone

# Odd constants. `_LEFT` makes the keys of "a b" and "b a" differ, `_TEXT` those of one n-gram in two texts.
_LEFT = np.uint64(0x9FB21C651E98DF25)
_TEXT = np.uint64(0xD6E8FEB86659FD93)
_ALONE = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True)
class Words(Pieces):
    """The W words of T texts, as `str.split()` cuts them.

    Args:
        column: the texts.
        starts, ends: word i is `column.units[starts[i]:ends[i]]` (W).
        bounds: text t has the words from `bounds[t]` to before `bounds[t + 1]` (T + 1).

    >>> words = Words.of(CodePoints.of(["to be or not to be", "be"]))
    >>> words.counts.tolist(), words.sizes.tolist(), words.medians().tolist()
    ([6, 1], [13, 2], [2.0, 2.0])
    >>> [(n, repeats.places.tolist()) for n, repeats in words.repeats(3)]  # "to be" at the words 0 and 4
    [(2, [0, 4]), (3, [])]
    """

    @classmethod
    def of(cls, column: CodePoints) -> "Words":
        """The words of a column."""
        inside = np.zeros(len(column.units) + 1, np.bool_)
        np.equal(column.kinds & SPACE, 0, out=inside[1:])
        (edges,) = np.nonzero(inside[1:] != inside[:-1])
        starts, ends = edges[::2], edges[1::2]
        return cls(column, starts, ends, np.searchsorted(starts, column.bounds))

    @shared
    def hashes(self) -> Hashes:
        """A hash of each word (W); see `CodePoints.hashes`."""
        return self.column.hashes(self.starts, self.ends)

    @shared
    def before(self) -> Numbers:
        """The number of code points of all words before each word, and of all words together at last (W + 1)."""
        return running_sums(self.lengths)

    @shared
    def sizes(self) -> Numbers:
        """The number of code points of each text, without its white space (T)."""
        return np.diff(self.before[self.bounds])

    def edges(self, starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
        """Shortens stretches of the column by the white space at both ends.

        Args:
            starts: offset where each stretch begins. Stretches are texts, lines or paragraphs (n).
            ends: offset where each stretch ends (n).

        Returns:
            The new starts and ends (n). A stretch without words is empty, at its old start.
        """
        first, last = np.searchsorted(self.starts, starts), np.searchsorted(self.starts, ends)
        (some,) = np.nonzero(last > first)
        heads, tails = starts.copy(), starts.copy()
        heads[some], tails[some] = self.starts[first[some]], self.ends[last[some] - 1]
        return heads, tails

    def medians(self) -> NDArray[np.float64]:
        """The median word length of each text in code points; 0 for a text without words (T)."""
        texts = len(self.counts)
        bins = self.texts * _HISTOGRAM
        bins += np.minimum(self.lengths, _HISTOGRAM - 1)
        shorter = np.bincount(bins, minlength=texts * _HISTOGRAM).reshape(texts, _HISTOGRAM).cumsum(axis=1)
        low = np.sum(shorter <= ((self.counts - 1) // 2)[:, None], axis=1)
        high = np.sum(shorter <= (self.counts // 2)[:, None], axis=1)
        medians: NDArray[np.float64] = (low + high) / 2
        medians[self.counts == 0] = 0.0
        for text in np.flatnonzero((high >= _HISTOGRAM - 1) & (self.counts > 0)):
            medians[text] = np.median(self.lengths[self.bounds[text] : self.bounds[text + 1]])
        return medians

    def repeats(self, most: int) -> Iterator[tuple[int, Repeats]]:
        """The n-grams that repeat within their text, for n = 2 to `most`.

        An (n + 1)-gram can repeat only if both n-grams in it repeat. The groups of these two identify it. So only
        pairs of words are compared by their hash; longer n-grams are compared exactly. Each n has far fewer
        candidates than the n before.

        Yields:
            n, and the repeats; a place is the number of the n-gram's first word.
        """
        pairs = self.hashes * _LEFT
        pairs[:-1] += self.hashes[1:]
        pairs += self.texts.astype(np.uint64) * _TEXT
        last = self.bounds[1:][self.counts > 0] - 1
        pairs[last] = mix_hash_bits(
            last.astype(np.uint64) * _ALONE
        )  # no pair starts at a last word: it gets a unique key
        repeats = Repeats.of(pairs)
        yield 2, repeats
        for n in range(3, most + 1):
            (near,) = np.nonzero(np.diff(repeats.places) == 1)
            repeats = _extend_repeated_ngrams(repeats, near)
            yield n, repeats

    def windows(self, n: int) -> Numbers:
        """The total length of all n-grams of each text, in code points without white space; 0 if it has none (T)."""
        twice = running_sums(self.before)
        first, last = self.bounds[:-1], self.bounds[1:]
        some = self.counts >= n
        cut = np.where(some, n, 0)
        totals = (twice[last + 1] - twice[first + cut]) - (twice[last - cut + 1] - twice[first])
        return np.where(some, totals, 0)


def _extend_repeated_ngrams(repeats: Repeats, near: Numbers) -> Repeats:
    """The repeated (n + 1)-grams among those that start at `repeats.places[near]`."""
    width = int(repeats.counts.size).bit_length()
    # The pair of groups occupies the highest bits, because `Repeats` is fastest if these differ.
    keys = repeats.groups[near].astype(np.uint64) << np.uint64(64 - width)
    keys |= repeats.groups[near + 1].astype(np.uint64) << np.uint64(64 - 2 * width)
    longer = Repeats.of(keys)
    places = repeats.places[near]
    return Repeats(places[longer.places], longer.groups, longer.counts, places[longer.firsts])
