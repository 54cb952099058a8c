"""N-grams of words that repeat within their text: how many characters the most common one and all of them have."""

import numpy as np

from gristmill.text.code_points import Numbers
from gristmill.text.repeats import Repeats
from gristmill.text.words import Words


def most_common_ngram_share(words: Words, n: int, repeats: Repeats) -> Numbers:
    """The length of each text's most common n-gram times its count, 0 if none repeats (T).

    If several are equally common, the first of them counts. White space has no length; overlaps count twice.

    Args:
        words: the words of a column.
        n: words of an n-gram.
        repeats: n-grams that repeat, as `words.repeats` gives them.
    """
    # The highest count wins, then the first place. Both are in one number, with the place counted from the end.
    bits = len(words.starts).bit_length()
    mask = (1 << bits) - 1
    best = np.zeros(len(words.counts), np.int64)
    np.maximum.at(best, words.texts[repeats.firsts], repeats.counts << bits | (mask - repeats.firsts))
    found = best > 0
    place = np.where(found, mask - (best & mask), 0)
    last = np.where(found, place + n, 0)
    return (best >> bits) * (words.before[last] - words.before[place])


def repeated_ngram_length(words: Words, n: int, repeats: Repeats) -> Numbers:
    """The length of all words of each text that are in an n-gram which repeats, each word once (T).

    Args:
        words: the words of a column.
        n: words of an n-gram.
        repeats: n-grams that repeat, as `words.repeats` gives them.
    """
    ends = repeats.places + n
    starts = repeats.places.copy()
    np.maximum(starts[1:], ends[:-1], out=starts[1:])  # what the n-gram before has counts once
    lengths = words.before[ends] - words.before[starts]
    return np.bincount(words.texts[repeats.places], weights=lengths, minlength=len(words.counts)).astype(np.int64)
