"""FINEWEB: what FineWeb's own rules measure, as scores, so that a rule of a mix sets the threshold.

Source: Penedo et al. 2024, "The FineWeb Datasets", section 3.6. The values are those that `FineWebQualityFilter` of
datatrove 0.10.1 (src/datatrove/pipeline/filters/fineweb_quality_filter.py) compares with its thresholds, and the labels
have the names of its reasons. It removes a document with `line_punct_ratio` below 0.12, `short_line_ratio` above 0.67,
`char_dup_ratio` above 0.01 or `list_ratio` above 0.3.

`list_ratio` divides by words. datatrove splits English with spaCy, which also cuts off punctuation, so it finds about
a sixth more words than there are between white space. `fineweb` takes a counter of words; with the same words the
values are equal.
"""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.characters.scripts import script_counts
from gristmill.text.characters.sentence_ends import sentence_ends
from gristmill.text.characters.sets import Characters, running_sums
from gristmill.text.code_points import Hashes
from gristmill.text.column import TextColumn
from gristmill.text.huge.groups import PART, Groups
from gristmill.text.huge.limits import MOST_COMPARED
from gristmill.text.huge.windows import WINDOW, Window, hash_of, line_windows, points_of, strip_window, word_windows

Shares = NDArray[np.float64]
Measures = Mapping[str, Shares]

SHORT = 30
"""The most code points of a short line."""


def fineweb(
    name: str = "fineweb-1",
    *,
    count_words: Callable[[str], int | None] | None = None,
    splitter: str = "white space",
    ends: str = "",
) -> Tagger:
    """The tagger of FineWeb's rules.

    Args:
        name: name of the tagger; another `count_words` or `ends` takes another name.
        count_words: the number of words of a text, None if it cannot tell; that of another splitter, such as
            `lambda text: len(nlp(text))` with one of spaCy. By default words are between white space, and a text has
            none if more than half of it is of scripts without spaces, such as Chinese or Thai.
        splitter: name of the splitter that counts the words, for the recipe, with its version.
        ends: the characters that end a sentence (`stop_chars`); by default those of all scripts.
    """
    terminal = Characters.of(ends) if ends else None

    def tag(batch: Batch) -> dict[str, Shares]:
        def measure(column: TextColumn) -> Measures:
            counts = None if count_words is None else [count_words(batch.texts[place]) for place in column.places]
            return _line_shares(column, terminal or sentence_ends()) | {"list_ratio": _list_ratio(column, counts)}

        def huge(text: str) -> Measures:
            words, unknown = words_of_huge(text) if count_words is None else (count_words(text), False)
            ratio = text.count("\n") / (words or 1)
            missing = unknown or not words
            ratios = {"list_ratio": np.ma.MaskedArray([ratio], mask=[missing])}
            return lines_of_huge(text, terminal or sentence_ends()) | ratios

        return batch.measured(measure, huge)

    return Tagger(
        name=name,
        batch=tag,
        labels=LABELS,
        parameters={"short": SHORT, "words": splitter, "ends": ends or "Sentence_Terminal 15.0"},
        description="The line and repetition measures of FineWeb (Penedo et al. 2024).",
    )


def _line_shares(column: TextColumn, ends: Characters) -> dict[str, Shares]:
    """The labels about lines. Lines of nothing but white space do not count."""
    lines, units = column.lines, column.points.units
    filled = np.diff(column.first_words) > 0
    counts = np.diff(running_sums(filled)[lines.bounds])
    (places,) = np.nonzero(filled)
    ended = places[ends.among_units(units[lines.ends[places] - 1])]
    short = np.flatnonzero(filled & (lines.lengths <= SHORT))
    copies = lines.copied_line_numbers()
    copies = copies[filled[copies]]
    copied = np.bincount(lines.texts[copies], weights=lines.lengths[copies], minlength=len(lines.counts))
    empty = counts == 0
    shares = {
        "line_punct_ratio": lines.count(ended) / np.maximum(counts, 1),
        "short_line_ratio": lines.count(short) / np.maximum(counts, 1),
        "char_dup_ratio": copied / np.maximum(column.points.lengths - lines.counts + 1, 1),
    }
    return {label: np.ma.MaskedArray(values, mask=empty) for label, values in shares.items()}


def _list_ratio(column: TextColumn, counts: list[int | None] | None) -> Shares:
    """Line feeds divided by words (T)."""
    words = column.words.counts
    unknown = column.unspaced[0]
    if counts is not None:
        words = np.array([count or 0 for count in counts])
        unknown = np.array([count is None for count in counts])
    ratios: Shares = (column.lines.counts - 1) / np.maximum(words, 1)
    return np.ma.MaskedArray(ratios, mask=unknown | (words == 0))


def words_of_huge(text: str, size: int = WINDOW) -> tuple[int, bool]:
    """The words of a huge text, and whether more than half of it is of scripts without spaces.

    Args:
        text: any text.
        size: code points of a window.
    """
    words = sum(len(text[start:end].split()) for start, end in word_windows(text, size))
    black = unspaced_points = 0
    for start in range(0, len(text), size):
        counts = script_counts(points_of(text, Window(start, min(start + size, len(text)))))
        black, unspaced_points = black + int(counts[0][0]), unspaced_points + int(counts[1][0])
    return words, 2 * unspaced_points > black


def lines_of_huge(
    text: str, ends: Characters, size: int = WINDOW, part: int = PART, most: int = MOST_COMPARED
) -> dict[str, Shares]:
    """The labels about lines of one huge text, computed in windows.

    Args:
        text: any text.
        ends: the characters that end a sentence.
        size: code points of a window.
        part: lines that are compared in one pass.
        most: lines that are compared with each other.
    """
    keys: list[Hashes] = []
    sizes: list[NDArray[np.uint32]] = []
    sums = Counter[str]()
    for window in line_windows(text, size):
        if window.end - window.start > size:  # one line
            head, tail = strip_window(text, window)
            filled = np.array([head < tail])
            hashes, lengths = np.array([hash_of(text, window)], np.uint64), np.array([window.end - window.start])
            last = np.array([ord(text[window.end - 1])])
        else:
            column = TextColumn([0], points_of(text, window))
            lines, filled = column.lines, np.diff(column.first_words) > 0
            hashes, lengths = lines.column.hashes(lines.starts, lines.ends), lines.lengths
            last = column.points.units[lines.ends - 1]  # of an empty line any other
        sums["lines"] += int(filled.sum())
        sums["ended"] += int(ends.among_units(last[filled]).sum())
        sums["short"] += int((lengths[filled] <= SHORT).sum())
        if sums["lines"] <= most:
            keys.append(hashes[filled])
            sizes.append(lengths[filled].astype(np.uint32))
    lines_of_text = max(sums["lines"], 1)
    compared = sums["lines"] <= most
    copied = _copied_line_length(np.concatenate(keys), np.concatenate(sizes), part) if compared else 0
    shares = {
        "line_punct_ratio": sums["ended"] / lines_of_text,
        "short_line_ratio": sums["short"] / lines_of_text,
        "char_dup_ratio": copied / max(len(text) - text.count("\n"), 1),
    }
    missing = {label for label in shares if not sums["lines"] or (label == "char_dup_ratio" and not compared)}
    return {label: np.ma.MaskedArray([value], mask=[label in missing]) for label, value in shares.items()}


def _copied_line_length(keys: Hashes, lengths: NDArray[np.uint32], part: int) -> int:
    """The code points in lines that occurred before."""
    stretches = (np.arange(start, min(start + part, len(keys))) for start in range(0, len(keys), part))
    groups = Groups.of(len(keys), stretches, keys.take, part).numbers
    once = np.zeros(int(groups.max(initial=0)) + 1, np.int64)
    once[groups] = lengths  # equal lines are equally long
    return int(lengths[groups > 0].sum(dtype=np.int64) - once[1:].sum())


LABELS = (
    Score("line_punct_ratio", "share of lines that end with the end of a sentence", low=0, high=1, optional=True),
    Score("short_line_ratio", f"share of lines with at most {SHORT} code points", low=0, high=1, optional=True),
    Score("char_dup_ratio", "share of code points in lines that occurred before", low=0, high=1, optional=True),
    Score("list_ratio", "line feeds divided by words", low=0, optional=True, words=True),
)
"""They are missing for a text without any line that has more than white space."""

FINEWEB = fineweb()
