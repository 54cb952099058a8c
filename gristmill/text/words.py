"""Words: those of a column of texts, and the n-grams of them that repeat within a text."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import SPACE, CodePoints, Hashes, Numbers, mixed
from gristmill.text.pieces import Pieces
from gristmill.text.repeats import Repeats

_HISTOGRAM = 64  # word lengths from here on share a bin; their median is looked up text by text

_LEFT = np.uint64(0x9FB21C651E98DF25)  # odd: so that "a b" and "b a" differ
_TEXT = np.uint64(0xD6E8FEB86659FD93)  # odd: so that one n-gram in two texts differs
_ALONE = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True)
class Words(Pieces):
    """Words as `str.split()` cuts them; W words of T texts."""

    @classmethod
    def of(cls, column: CodePoints) -> "Words":
        """The words of a column."""
        inside = np.zeros(len(column.units) + 1, np.bool_)
        np.equal(column.kinds & SPACE, 0, out=inside[1:])
        (edges,) = np.nonzero(inside[1:] != inside[:-1])
        starts, ends = edges[::2], edges[1::2]
        return cls(column, starts, ends, np.searchsorted(starts, column.bounds))

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each word (W); see `CodePoints.hashes`."""
        return self.column.hashes(self.starts, self.ends)

    @cached_property
    def before(self) -> Numbers:
        """How many code points of words lie before each word, and before the end (W + 1)."""
        return _summed(self.lengths)

    @cached_property
    def sizes(self) -> Numbers:
        """How many code points of words each text has: all but its white space (T)."""
        return np.diff(self.before[self.bounds])

    def per_text(self, chosen: NDArray[np.bool_]) -> Numbers:
        """How many of the chosen words each text has; `chosen` has W entries."""
        return np.diff(_summed(chosen)[self.bounds])

    def medians(self) -> NDArray[np.float64]:
        """The median word length of each text, 0 where it has no word (T)."""
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

        A place is that of an n-gram's first word. An (n + 1)-gram repeats only where the n-gram there and the
        next one both repeat, and is told from others by the two groups they are in: so pairs of words alone
        are compared by hash, all longer ones exactly, and each n has far fewer candidates than the one before.
        """
        pairs = self.hashes * _LEFT
        pairs[:-1] += self.hashes[1:]
        pairs += self.texts.astype(np.uint64) * _TEXT
        last = self.bounds[1:][self.counts > 0] - 1
        pairs[last] = mixed(last.astype(np.uint64) * _ALONE)  # no pair starts here: a key of its own
        found = Repeats.of(pairs)
        yield 2, found
        for n in range(3, most + 1):
            (near,) = np.nonzero(np.diff(found.places) == 1)
            found = _longer(found, near)
            yield n, found

    def windows(self, n: int) -> Numbers:
        """The code points of words of all n-grams of each text together, 0 where it has none (T)."""
        twice = _summed(self.before)
        first, last = self.bounds[:-1], self.bounds[1:]
        some = self.counts >= n
        cut = np.where(some, n, 0)
        sums = (twice[last + 1] - twice[first + cut]) - (twice[last - cut + 1] - twice[first])
        return np.where(some, sums, 0)


def _longer(found: Repeats, near: Numbers) -> Repeats:
    """The repeated (n + 1)-grams among those that start where `found.places[near]` says."""
    span = int(found.counts.size).bit_length()
    # The pair of groups stands in the highest bits, where `Repeats` looks first.
    keys = found.groups[near].astype(np.uint64) << np.uint64(64 - span)
    keys |= found.groups[near + 1].astype(np.uint64) << np.uint64(64 - 2 * span)
    again = Repeats.of(keys)
    places = found.places[near]
    return Repeats(places[again.places], again.groups, again.counts, places[again.firsts])


def _summed(values: NDArray[np.int64] | NDArray[np.bool_]) -> Numbers:
    """Sums of all values before each place, and of all (one longer than `values`)."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums
