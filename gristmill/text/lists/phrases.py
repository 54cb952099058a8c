"""Phrases: words and phrases of a list, which are looked up among the pieces of texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gristmill.text.code_points import CodePoints, Hashes, Numbers
from gristmill.text.pieces import Pieces

_LEFT = np.uint64(0x9FB21C651E98DF25)  # odd: so the keys of "a b" and "b a" differ
_WIDEST = {1: "\x7f", 2: "\uffff", 4: "\U0010ffff"}


@dataclass(frozen=True)
class Phrases:
    """Words, and phrases of several words with one space between them.

    Args:
        entries: the words of each.

    >>> from gristmill.text.words import Words
    >>> words = Words.of(CodePoints.of(["to be or not to be", "be  or", "or"]))
    >>> Phrases.of(["or", "be or", "to be", "or or"]).count(words, words.hashes).tolist()
    [4, 2, 1]
    """

    entries: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, phrases: Iterable[str]) -> "Phrases":
        """The phrases, each once. One that begins or ends with a space, or has two spaces in a row, is never found."""
        return cls(tuple(sorted({tuple(phrase.split(" ")) for phrase in phrases})))

    def count(self, pieces: Pieces, hashes: Hashes) -> Numbers:
        """The number of pieces of each text that are one of the phrases, one after the other (T). Overlaps count.

        Args:
            pieces: pieces of the texts.
            hashes: hashes of the pieces, as their column gives them (P).
        """
        counts = np.zeros(len(pieces.counts), np.int64)
        for firsts, keys in self._phrase_keys(pieces.column.units.itemsize):
            (places,) = np.nonzero(np.isin(hashes, firsts))
            n = keys.shape[1]
            places = places[places + n <= len(hashes)]
            places = places[pieces.texts[places] == pieces.texts[places + n - 1]]
            found = np.isin(_join_word_hashes(hashes[places[:, None] + np.arange(n)]), _join_word_hashes(keys))
            counts += np.bincount(pieces.texts[places[found]], minlength=len(counts))
        return counts

    @lru_cache(maxsize=16)  # noqa: B019 - a process has few lists, and keeps them
    def _phrase_keys(self, width: int) -> list[tuple[Hashes, Hashes]]:
        """For each number of words n: the hashes of the first words, and of all words (phrases, n).

        Args:
            width: bytes of a code point in the column: hashes depend on it.
        """
        keys = []
        for n in sorted({len(entry) for entry in self.entries}):
            entries = [entry for entry in self.entries if len(entry) == n and all(entry)]
            entries = [entry for entry in entries if max(map(max, entry)) <= _WIDEST[width]]
            if entries:
                column = CodePoints.of([*(word for entry in entries for word in entry), _WIDEST[width]])
                found = column.hashes(column.bounds[:-1], column.bounds[1:] - 1)[:-1].reshape(len(entries), n)
                keys.append((np.unique(found[:, 0]), found))
        return keys


def _join_word_hashes(hashes: Hashes) -> Hashes:
    """One key for the words of each phrase: (n, words) to (n,)."""
    keys = hashes[:, 0].copy()
    for word in range(1, hashes.shape[1]):
        keys = keys * _LEFT + hashes[:, word]
    return keys
