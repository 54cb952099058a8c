"""GOPHER: the quality and repetition rules of Gopher's MassiveText, a whole batch of documents at a time.

Source: Rae et al. 2021, "Scaling Language Models: Methods, Analysis & Insights from Training Gopher", table A1
and appendix A.1.1. Labels and values are those of the `gopher_v1` tagger of the Dolma toolkit 1.2.1, digit for
digit, so that rules written for one set work on the other.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Tagger
from gristmill.text.code_points import ELLIPSIS, LETTER, SYMBOL, CodePoints, Hashes, Numbers, columns
from gristmill.text.lines import Lines
from gristmill.text.repeats import Repeats
from gristmill.text.words import Words

Shares = NDArray[np.float64]

_REQUIRED = ("be", "have", "of", "that", "the", "to", "with", "and")
_BULLETS = "*-"
_MOST_COMMON = (2, 3, 4)
_DUPLICATE = (5, 6, 7, 8, 9, 10)
_DIGITS = 5
_DOUBT = 1e-13  # relative: hundreds of times what a product of two doubles is off
_COLUMN = 500_000  # code points looked at together: what stays in the processor's cache


def tag(documents: Sequence[Document]) -> dict[str, list[Label]]:
    """The labels of a batch of documents; an n-gram's label is None where a document has less than n words.

    * `character_count`, `word_count`, `median_word_length`: words are what `str.split()` gives.
    * `symbol_to_word_ratio`: words with `#` or `…`. `fraction_of_words_with_alpha_character`.
    * `required_word_count`: how often the, be, to, of, and, that, have and with occur together.
    * `fraction_of_lines_starting_with_bullet_point` (`*` or `-`), `fraction_of_lines_ending_with_ellipsis` (`…`).
    * `fraction_of_duplicate_lines`, `fraction_of_characters_in_duplicate_lines`: every copy counts, the first
      as well; empty lines are lines.
    * `fraction_of_characters_in_most_common_<n>grams`, n = 2 to 4: occurrences times length of the most common
      n-gram, of several the first. Overlaps count twice, so that it can exceed 1.
    * `fraction_of_characters_in_duplicate_<n>grams`, n = 5 to 10: the share of all n-grams together.

    Fractions of characters are of those that are no white space. All are rounded to five digits.
    """
    texts = [document.text for document in documents]
    labels: dict[str, list[Label]] = {}
    for places, column in columns(texts, _COLUMN):
        for label, values in _measured(column).items():
            row = labels.setdefault(label, [None] * len(texts))
            for place, value in zip(places, values, strict=True):
                row[place] = value
    return labels


def _measured(column: CodePoints) -> dict[str, list[Label]]:
    words = Words.of(column)
    labels = _quality(words) | _lines(Lines.of(column), words)
    return _ngrams(words) | {label: _rounded(values) for label, values in labels.items()}


def _quality(words: Words) -> dict[str, Shares]:
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
    """How many words of each text hold a symbol."""
    (symbols,) = np.nonzero((words.column.kinds & SYMBOL) != 0)
    holders = np.unique(np.searchsorted(words.starts, symbols, side="right") - 1)
    return np.bincount(words.texts[holders], minlength=len(words.counts))


def _with_letter(words: Words) -> NDArray[np.bool_]:
    """Whether each word holds a letter."""
    letters = words.column.kinds & LETTER
    found: NDArray[np.bool_] = letters[words.starts] != 0
    (others,) = np.nonzero(~found)  # few: most words start with one
    if others.size:
        edges = np.column_stack((words.starts[others], words.ends[others])).ravel()
        found[others] = np.bitwise_or.reduceat(letters, edges)[::2] != 0
    return found


@cache
def _required(width: int) -> Hashes:
    """The hashes of the required words in a column of this width of code point."""
    widest = {1: "", 2: "\u2026", 4: "\U0010ffff"}[width]
    return Words.of(CodePoints.of((*_REQUIRED, widest))).hashes[: len(_REQUIRED)]


def _lines(lines: Lines, words: Words) -> dict[str, Shares]:
    units = lines.column.units
    (filled,) = np.nonzero(lines.lengths > 0)
    heads, tails = units[lines.starts[filled]], units[lines.ends[filled] - 1]
    bullets = filled[np.isin(heads, [ord(bullet) for bullet in _BULLETS])]
    repeated = lines.repeated()
    characters = np.bincount(lines.texts[repeated], weights=lines.lengths[repeated], minlength=len(lines.counts))
    return {
        "fraction_of_lines_starting_with_bullet_point": lines.count(bullets) / lines.counts,
        "fraction_of_lines_ending_with_ellipsis": lines.count(filled[tails == ELLIPSIS]) / lines.counts,
        "fraction_of_duplicate_lines": lines.count(repeated) / lines.counts,
        "fraction_of_characters_in_duplicate_lines": characters / np.maximum(words.sizes, 1),
    }


def _ngrams(words: Words) -> dict[str, list[Label]]:
    labels: dict[str, list[Label]] = {}
    for n, found in words.repeats(_DUPLICATE[-1]):
        if n in _MOST_COMMON:
            label, values = f"fraction_of_characters_in_most_common_{n}grams", _most_common(words, n, found)
        else:
            label, values = f"fraction_of_characters_in_duplicate_{n}grams", _duplicate(words, n, found)
        enough = (words.counts >= n).tolist()
        labels[label] = [value if some else None for value, some in zip(_rounded(values), enough, strict=True)]
    return labels


def _most_common(words: Words, n: int, found: Repeats) -> Shares:
    """Occurrences times length of each text's most common n-gram, by the length of the text's words."""
    # The highest count wins, then the first place: both in one number, the place counted from the end.
    bits = len(words.starts).bit_length()
    mask = (1 << bits) - 1
    best = (1 << bits) | (mask - words.bounds[:-1])  # each text's first n-gram, once
    np.maximum.at(best, words.texts[found.firsts], found.counts << bits | (mask - found.firsts))
    place = np.where(words.counts >= n, mask - (best & mask), 0)
    last = np.minimum(place + n, len(words.starts))
    lengths = (best >> bits) * (words.before[last] - words.before[place])
    shares: Shares = lengths / np.maximum(words.sizes, 1)
    return shares


def _duplicate(words: Words, n: int, found: Repeats) -> Shares:
    """The length of each text's n-grams that repeat, by that of all its n-grams."""
    lengths = words.before[found.places + n] - words.before[found.places]
    repeated = np.bincount(words.texts[found.places], weights=lengths, minlength=len(words.counts))
    return repeated / np.maximum(words.windows(n), 1)


def _rounded(values: Shares) -> list[Label]:
    """As `round(value, 5)` rounds each: to the nearest decimal, which `np.round` misses near a half."""
    scaled = values * 10**_DIGITS
    rounded = np.rint(scaled) / 10**_DIGITS
    doubtful = np.abs(scaled - np.floor(scaled) - 0.5) < _DOUBT * np.maximum(np.abs(scaled), 1.0)
    for place in np.flatnonzero(doubtful):
        rounded[place] = round(float(values[place]), _DIGITS)
    labels: list[Label] = rounded.tolist()
    return labels


GOPHER = Tagger(
    name="gopher-1",
    batch=tag,
    parameters={
        "required_words": sorted(_REQUIRED),
        "bullets": sorted(_BULLETS),
        "most_common": list(_MOST_COMMON),
        "duplicate": list(_DUPLICATE),
        "digits": _DIGITS,
    },
    description="The quality and repetition rules of Gopher (Rae et al. 2021), as Dolma's gopher_v1 has them.",
)
