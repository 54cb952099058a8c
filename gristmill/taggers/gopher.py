"""GOPHER: the quality and repetition statistics of Gopher's MassiveText, computed for a whole batch of documents.

Source: Rae et al. 2021, "Scaling Language Models: Methods, Analysis & Insights from Training Gopher", table A1
and appendix A.1.1. Labels and values are equal to those of the `gopher_v1` tagger of the Dolma toolkit 1.2.1, digit
for digit. So rules that were written for that set work on this one.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.rows.attribute import DIGITS, rounded_scores
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.code_points import ELLIPSIS, LETTER, SYMBOL, CodePoints, Hashes, Numbers
from gristmill.text.column import TextColumn
from gristmill.text.huge.groups import PART, copies, grouped, ngram_groups
from gristmill.text.huge.limits import MOST_COMPARED
from gristmill.text.huge.windows import WINDOW, Window, hash_of, line_windows, points_of, word_windows
from gristmill.text.lines import Lines
from gristmill.text.repeats import Repeats
from gristmill.text.words import Words

Shares = NDArray[np.float64]

_REQUIRED = ("be", "have", "of", "that", "the", "to", "with", "and")
_BULLETS = "*-"
_MOST_COMMON = (2, 3, 4)
_DUPLICATE = (5, 6, 7, 8, 9, 10)


def tag(documents: Sequence[Document]) -> dict[str, Shares]:
    """The labels of a batch of documents, one number for each document. The label of an n-gram is None if a document
    has fewer than n words.

    Labels of n-grams are None from 20,000,001 words on, those of duplicate lines from so many lines on.

    * `character_count`, `word_count`, `median_word_length`: words as in `str.split()`.
    * `symbol_to_word_ratio`: share of words with `#` or `…`.
    * `fraction_of_words_with_alpha_character`: share of words with a letter.
    * `required_word_count`: how often the, be, to, of, and, that, have and with occur, together.
    * `fraction_of_lines_starting_with_bullet_point` (`*` or `-`), `fraction_of_lines_ending_with_ellipsis` (`…`).
    * `fraction_of_duplicate_lines`, `fraction_of_characters_in_duplicate_lines`: every copy counts, also the first.
      Empty lines are lines.
    * `fraction_of_characters_in_most_common_<n>grams`, n = 2 to 4: the most common n-gram's count times its length. If
      several are equally common, the first of them. Overlaps count twice, so the value can exceed 1.
    * `fraction_of_characters_in_duplicate_<n>grams`, n = 5 to 10: the share of all n-grams that occur more than once.

    Fractions of characters leave out white space. All values are rounded to five digits.

    >>> labels = tag([Document(id="a", text="to be or not to be", source="plays")])
    >>> [labels[f"fraction_of_characters_in_{name}grams"].tolist() for name in ("most_common_2", "duplicate_10")]
    [[0.61538], [None]]
    """
    return Batch.of(documents).measured(_measured, measured_huge)


def _measured(column: TextColumn) -> dict[str, Shares]:
    """The labels of the texts of one column of code points."""
    words = column.words
    labels = _quality(words) | _lines(column.lines, words)
    return {label: rounded_scores(values) for label, values in labels.items()} | _ngrams(words)


def _quality(words: Words) -> dict[str, Shares]:
    """The labels about words."""
    column = words.column
    least_one = np.maximum(words.counts, 1)
    required = np.isin(words.hashes, _required(column.units.itemsize))
    return {
        "character_count": column.lengths.astype(np.float64),
        "word_count": words.counts.astype(np.float64),
        "median_word_length": words.medians(),
        "symbol_to_word_ratio": _with_symbol(words) / least_one,
        "fraction_of_words_with_alpha_character": words.per_text(_with_letter(words)) / least_one,
        "required_word_count": words.per_text(required).astype(np.float64),
    }


def _with_symbol(words: Words) -> Numbers:
    """For each text the number of words that hold a symbol."""
    (symbols,) = np.nonzero((words.column.kinds & SYMBOL) != 0)
    holders = np.unique(np.searchsorted(words.starts, symbols, side="right") - 1)
    return np.bincount(words.texts[holders], minlength=len(words.counts))


def _with_letter(words: Words) -> NDArray[np.bool_]:
    """For each word whether it holds a letter."""
    letters = words.column.kinds & LETTER
    holds: NDArray[np.bool_] = letters[words.starts] != 0
    (others,) = np.nonzero(~holds)  # few, because most words start with a letter
    if others.size:
        edges = np.column_stack((words.starts[others], words.ends[others])).ravel()
        holds[others] = np.bitwise_or.reduceat(letters, edges)[::2] != 0
    return holds


@cache
def _required(width: int) -> Hashes:
    """The hashes of the required words, in a column whose code points have this width in bytes."""
    widest = {1: "", 2: "\u2026", 4: "\U0010ffff"}[width]
    return Words.of(CodePoints.of((*_REQUIRED, widest))).hashes[: len(_REQUIRED)]


def _lines(lines: Lines, words: Words) -> dict[str, Shares]:
    """The labels about lines."""
    bullets, ellipses = _edges(lines)
    repeated = lines.repeated()
    characters = np.bincount(lines.texts[repeated], weights=lines.lengths[repeated], minlength=len(lines.counts))
    return {
        "fraction_of_lines_starting_with_bullet_point": lines.count(bullets) / lines.counts,
        "fraction_of_lines_ending_with_ellipsis": lines.count(ellipses) / lines.counts,
        "fraction_of_duplicate_lines": lines.count(repeated) / lines.counts,
        "fraction_of_characters_in_duplicate_lines": characters / np.maximum(words.sizes, 1),
    }


def _edges(lines: Lines) -> tuple[Numbers, Numbers]:
    """The lines that start with a bullet point, and those that end with an ellipsis."""
    units = lines.column.units
    (filled,) = np.nonzero(lines.lengths > 0)
    heads, tails = units[lines.starts[filled]], units[lines.ends[filled] - 1]
    return filled[np.isin(heads, [ord(bullet) for bullet in _BULLETS])], filled[tails == ELLIPSIS]


def _ngrams(words: Words) -> dict[str, Shares]:
    """The labels about n-grams."""
    labels: dict[str, Shares] = {}
    for n, repeats in words.repeats(_DUPLICATE[-1]):
        if n in _MOST_COMMON:
            label, values = f"fraction_of_characters_in_most_common_{n}grams", _most_common(words, n, repeats)
        else:
            label, values = f"fraction_of_characters_in_duplicate_{n}grams", _duplicate(words, n, repeats)
        labels[label] = np.ma.MaskedArray(rounded_scores(values), mask=words.counts < n)
    return labels


def _most_common(words: Words, n: int, repeats: Repeats) -> Shares:
    """For each text: count times length of its most common n-gram, divided by the length of its words."""
    # The highest count wins, then the first place. Both are in one number, with the place counted from the end.
    bits = len(words.starts).bit_length()
    mask = (1 << bits) - 1
    best = (1 << bits) | (mask - words.bounds[:-1])  # each text's first n-gram, once
    np.maximum.at(best, words.texts[repeats.firsts], repeats.counts << bits | (mask - repeats.firsts))
    place = np.where(words.counts >= n, mask - (best & mask), 0)
    last = np.minimum(place + n, len(words.starts))
    lengths = (best >> bits) * (words.before[last] - words.before[place])
    shares: Shares = lengths / np.maximum(words.sizes, 1)
    return shares


def _duplicate(words: Words, n: int, repeats: Repeats) -> Shares:
    """For each text: the length of its repeated n-grams, divided by the length of all its n-grams."""
    lengths = words.before[repeats.places + n] - words.before[repeats.places]
    repeated = np.bincount(words.texts[repeats.places], weights=lengths, minlength=len(words.counts))
    return repeated / np.maximum(words.windows(n), 1)


def measured_huge(text: str, size: int = WINDOW, part: int = PART, most: int = MOST_COMPARED) -> dict[str, Shares]:
    """The labels of one huge text, computed in windows: the same ones, digit for digit.

    Args:
        text: any text.
        size: code points of a window.
        part: n-grams that are compared in one pass.
        most: words, or lines, that are compared with each other.
    """
    hashes, lengths, counts, sums = _windows_of_words(text, size, most)
    words = counts.total()
    values = {
        "character_count": len(text),
        "word_count": words,
        "median_word_length": _median(counts),
        "symbol_to_word_ratio": sums["symbols"] / max(words, 1),
        "fraction_of_words_with_alpha_character": sums["letters"] / max(words, 1),
        "required_word_count": sums["required"],
    }
    known: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    before = np.zeros(len(lengths) + 1, np.uint32)
    np.cumsum(lengths, out=before[1:])
    del lengths
    ngrams = _huge_ngrams(hashes, before, part)
    del before
    for n, (name, share) in zip((*_MOST_COMMON, *_DUPLICATE), ngrams, strict=True):
        known[name] = share if n <= words <= most else None
    known |= _huge_lines(text, sum(length * count for length, count in counts.items()), size, part, most)
    return {
        name: np.ma.MaskedArray(rounded_scores(np.array([value or 0.0])), mask=[value is None])
        for name, value in known.items()
    }


def _median(counts: Counter[int]) -> float:
    """The median of numbers that occur so often; 0 without numbers."""
    ordered = sorted(counts) or [0]
    ends = np.cumsum([counts[number] for number in ordered])
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(ordered[middle[0]] + ordered[min(middle[1], len(ordered) - 1)]) / 2


def _windows_of_words(
    text: str, size: int, most: int
) -> tuple[list[Hashes], NDArray[np.uint32], Counter[int], Counter[str]]:
    """What is known of the words.

    Returns:
        Their hashes, in a list of one; their lengths; both are empty for more than `most` words. How many words have
        each length; and how many hold a symbol, a letter, ...
    """
    hashes, lengths = array("Q"), array("I")  # they grow in place
    counts, sums = Counter[int](), Counter[str]()
    required = _required(1 if text.isascii() else 4)
    for window in word_windows(text, size):
        if window.end - window.start > size:  # one word
            word = Window(window.start, window.end - text[window.end - 1].isspace())
            hashes.append(hash_of(text, word))
            lengths.append(word.end - word.start)
            counts[word.end - word.start] += 1
            sums["symbols"] += any(text.find(symbol, *word) >= 0 for symbol in "#\u2026")
            sums["letters"] += _has_letter(text, word)
            continue
        words = Words.of(points_of(text, window))
        sizes = np.bincount(words.lengths)
        counts.update({length: int(sizes[length]) for length in np.flatnonzero(sizes).tolist()})
        if counts.total() > most:
            hashes, lengths = array("Q"), array("I")
        else:
            hashes.frombytes(words.hashes.tobytes())
            lengths.frombytes(words.lengths.astype(np.uint32).tobytes())
        sums["symbols"] += int(_with_symbol(words)[0])
        sums["letters"] += int(_with_letter(words).sum())
        sums["required"] += int(np.isin(words.hashes, required).sum())
    return [np.frombuffer(hashes, np.uint64)], np.frombuffer(lengths, np.uint32), counts, sums


def _has_letter(text: str, word: Window) -> bool:
    starts = range(word.start, word.end, WINDOW)
    return any(any(map(str.isalpha, text[start : min(start + WINDOW, word.end)])) for start in starts)


def _huge_ngrams(hashes: list[Hashes], before: NDArray[np.uint32], part: int) -> list[tuple[str, float]]:
    """The labels about n-grams of one text, in order of n; see `ngram_groups` for the hashes."""
    found: list[tuple[str, float]] = []
    words = len(before) - 1
    for n, groups in ngram_groups(hashes, _DUPLICATE[-1], part):
        if n == 1:
            continue
        if n in _MOST_COMMON:
            last = min(groups.first + n, words)
            length = max(groups.count, 1) * (int(before[last]) - int(before[groups.first]))
            label, share = f"fraction_of_characters_in_most_common_{n}grams", length / max(int(before[-1]), 1)
        else:
            lengths = (before[at + n] - before[at] for at in grouped(groups.numbers, part))
            repeated = sum(int(each.sum(dtype=np.int64)) for each in lengths)
            sums = before[n:].sum(dtype=np.int64) - before[: max(words - n + 1, 0)].sum(dtype=np.int64)
            label, share = f"fraction_of_characters_in_duplicate_{n}grams", repeated / max(int(sums), 1)
        found.append((label, share))
    return found


def _huge_lines(text: str, characters: int, size: int, part: int, most: int) -> dict[str, float | None]:
    """The labels about the lines of one text."""
    compared = text.count("\n") < most
    keys: list[Hashes] = []
    lengths: list[NDArray[np.uint32]] = []
    bullets = ellipses = 0
    for window in line_windows(text, size):
        if window.end - window.start > size:  # one line
            if compared:
                keys.append(np.array([hash_of(text, window)], np.uint64))
                lengths.append(np.array([window.end - window.start], np.uint32))
            bullets += text[window.start] in _BULLETS
            ellipses += ord(text[window.end - 1]) == ELLIPSIS
            continue
        lines = Lines.of(points_of(text, window))
        heads, tails = _edges(lines)
        bullets, ellipses = bullets + len(heads), ellipses + len(tails)
        if compared:
            keys.append(lines.column.hashes(lines.starts, lines.ends))
            lengths.append(lines.lengths.astype(np.uint32))
    count = text.count("\n") + 1
    copied, repeated = copies(keys, lengths, part) if compared else (None, 0)
    return {
        "fraction_of_lines_starting_with_bullet_point": bullets / count,
        "fraction_of_lines_ending_with_ellipsis": ellipses / count,
        "fraction_of_duplicate_lines": None if copied is None else copied / count,
        "fraction_of_characters_in_duplicate_lines": None if copied is None else repeated / max(characters, 1),
    }


GOPHER = Tagger(
    name="gopher-1",
    batch=tag,
    labels=(
        Score("character_count", "code points", unit="code points", low=0),
        Score("word_count", "words between white space", unit="words", low=0, words=True),
        Score("median_word_length", "median of the words' lengths", unit="code points", low=0, words=True),
        Score("symbol_to_word_ratio", "share of words with `#` or `…`", low=0, high=1, words=True),
        Score("fraction_of_words_with_alpha_character", "share of words with a letter", low=0, high=1, words=True),
        Score(
            "required_word_count", f"how often {', '.join(_REQUIRED)} occur, together", unit="words", low=0, words=True
        ),
        Score(
            "fraction_of_lines_starting_with_bullet_point", "share of lines that begin with `*` or `-`", low=0, high=1
        ),
        Score("fraction_of_lines_ending_with_ellipsis", "share of lines that end with `…`", low=0, high=1),
        Score("fraction_of_duplicate_lines", "share of lines that occur more than once", low=0, high=1, optional=True),
        Score(
            "fraction_of_characters_in_duplicate_lines",
            "share of characters in such lines; it can exceed 1, because their white space counts",
            low=0,
            optional=True,
        ),
        *(
            Score(
                f"fraction_of_characters_in_most_common_{n}grams",
                f"count times length of the most common {n} words in a row, as a share of characters; overlaps count"
                " twice, so it can exceed 1",
                low=0,
                optional=True,
                words=True,
            )
            for n in _MOST_COMMON
        ),
        *(
            Score(
                f"fraction_of_characters_in_duplicate_{n}grams",
                f"share of characters of all {n} words in a row that are in those which occur more than once",
                low=0,
                high=1,
                optional=True,
                words=True,
            )
            for n in _DUPLICATE
        ),
    ),
    parameters={
        "required_words": sorted(_REQUIRED),
        "bullets": sorted(_BULLETS),
        "most_common": list(_MOST_COMMON),
        "duplicate": list(_DUPLICATE),
        "digits": DIGITS,
    },
    description="The quality and repetition rules of Gopher (Rae et al. 2021), as Dolma's gopher_v1 has them.",
)
