"""How many words of a huge text differ and repeat, alone and in a row: what RedPajama measures."""

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import Hashes
from gristmill.text.huge.groups import PART, Groups, grouped, ngram_groups


def repeated_word_shares(
    hashes: list[Hashes],
    before: NDArray[np.uint32],
    top: Collection[int],
    duplicate: Collection[int],
    part: int = PART,
) -> Iterator[tuple[str, float | None]]:
    """What is found when the words of one text are compared with each other.

    Args:
        hashes: the hash of each word, in stretches. The list is emptied.
        before: the code points of all words before each word, and of all words at last.
        top: lengths of n-grams of which the most common one counts.
        duplicate: lengths of n-grams of which all that repeat count.
        part: words that are compared in one pass.

    Yields:
        RedPajama's name of each measure without `rps_doc_`, and its value, which is not rounded; see `text/ngrams.py`.

    >>> words = np.array([5, 6, 7, 5, 6], np.uint64)  # "to be or to be"
    >>> dict(repeated_word_shares([words], np.array([0, 2, 4, 6, 8, 10], np.uint32), [2], []))["frac_chars_top_2gram"]
    0.8
    """
    count = len(before) - 1
    size = max(int(before[-1]), 1)
    for n, groups in ngram_groups(hashes, max((*top, *duplicate)), part):
        if n == 1:
            yield from _ngram_share_labels(groups, count)
        if n in top:
            last = min(groups.first + n, count)
            length = groups.count * (int(before[last]) - int(before[groups.first]))
            yield f"frac_chars_top_{n}gram", length / size
        if n in duplicate:
            yield f"frac_chars_dupe_{n}grams", _repeated_ngram_length(groups, n, before, part) / size


def _ngram_share_labels(groups: Groups, count: int) -> Iterator[tuple[str, float | None]]:
    counts = np.zeros(int(groups.numbers.max(initial=0)) + 1, np.uint32)
    np.add.at(counts, groups.numbers, np.uint32(1))
    counts = counts[1:]
    single, shares = count - int(counts.sum(dtype=np.int64)), counts / max(count, 1)
    entropy = single / max(count, 1) * float(np.log(max(count, 1))) - float((shares * np.log(shares)).sum())
    yield "frac_unique_words", (single + len(counts)) / count if count else None
    yield "unigram_entropy", max(entropy, 0.0) if count else None


def _repeated_ngram_length(groups: Groups, n: int, before: NDArray[np.uint32], step: int) -> int:
    """The length of all words that are in an n-gram which repeats, each word once."""
    total = end = 0
    for places in grouped(groups.numbers, step):
        if len(places):
            ends = places + n
            starts = np.maximum(places, np.concatenate(([end], ends[:-1])))
            total += int(before[ends].sum(dtype=np.int64)) - int(before[starts].sum(dtype=np.int64))
            end = int(ends[-1])
    return total
