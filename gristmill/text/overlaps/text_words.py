"""TextWords: the words of one text in the normalisation `words-1`, with their places and hashes, line by line."""

from dataclasses import dataclass

import numpy as np

from gristmill.text.code_points import Numbers
from gristmill.text.units.hashes import Hashes128, hash_word_sequences, word_hashes
from gristmill.text.units.normalisation import is_single_word_character, is_word_character, words_text
from gristmill.text.units.utf8_column import encoded_text

_LINE_FEED = 10


@dataclass(frozen=True)
class TextWords:
    """The W words of a text, and its L lines.

    Attributes:
        starts: offset where each word begins, in code points (W).
        ends: offset where each word ends (W).
        hashes: hashes of the words (W).
        lines: the number of the first word of each line, and W (L + 1).
    """

    starts: Numbers
    ends: Numbers
    hashes: Hashes128
    lines: Numbers

    @classmethod
    def of(cls, text: str) -> "TextWords":
        """The words of a text.

        >>> words = TextWords.of("To be, or" + chr(10) + "日本")
        >>> words.starts.tolist(), words.ends.tolist(), words.lines.tolist()
        ([0, 3, 7, 10, 11], [2, 5, 9, 11, 12], [0, 3, 5])
        """
        data = encoded_text(words_text(text))
        units = np.frombuffer(data, np.uint8)
        starts, ends = word_edges(data)
        hashes = word_hashes(data, starts, ends)
        feeds = np.flatnonzero(units == _LINE_FEED)
        lines = np.concatenate([[0], np.searchsorted(starts, feeds), [len(starts)]])
        if not text.isascii():
            starts, ends = _word_places(text)
        return cls(starts, ends, hashes, lines)

    def ngram_hashes(self, length: int) -> Hashes128:
        """The hash of each run of `length` words; run i begins with word i."""
        firsts = np.arange(max(len(self.starts) - length + 1, 0))
        return hash_word_sequences(self.hashes, firsts, np.full(len(firsts), length))

    def line_hashes(self, least: int) -> tuple[Numbers, Hashes128]:
        """The numbers of the lines with at least `least` words, and the hash of each."""
        counts = np.diff(self.lines)
        chosen = np.flatnonzero(counts >= max(least, 1))
        return chosen, hash_word_sequences(self.hashes, self.lines[chosen], counts[chosen])


def word_edges(data: bytes) -> tuple[Numbers, Numbers]:
    """The start and the end of each word of a normalised text, in bytes."""
    outside = np.ones(len(data) + 2, np.bool_)
    np.less_equal(np.frombuffer(data, np.uint8), 0x20, out=outside[1:-1])
    (edges,) = np.nonzero(outside[1:] != outside[:-1])
    return edges[::2], edges[1::2]


def _word_places(text: str) -> tuple[Numbers, Numbers]:
    """The starts and ends of words, in code points."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    inside, alone = np.zeros(len(codes) + 2, np.bool_), np.zeros(len(codes) + 2, np.bool_)
    inside[1:-1], alone[1:-1] = is_word_character().take(codes), is_single_word_character().take(codes)
    parted = alone[1:] | alone[:-1]
    (starts,) = np.nonzero(inside[1:] & (~inside[:-1] | parted))
    (ends,) = np.nonzero(inside[:-1] & (~inside[1:] | parted))
    return starts, ends
