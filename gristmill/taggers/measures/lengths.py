"""LENGTHS: how long each document is, in ten units.

Source: the taggers char_length_v1, char_length_strip_ws_v1, bytes_length_v1, whitespace_tokenizer_v1, uniseg_length_v1
and uniseg_length_paragraphs_with_doc_length_v1 of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, `length.py`).
"""

from collections import Counter
from typing import Any

import numpy as np

from gristmill.recipes.batch import Batch, Measured
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.characters.scripts import script_counts
from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.column import TextColumn
from gristmill.text.huge.windows import WINDOW, Window, points_of, sentence_windows, strip_window
from gristmill.text.unicode.sentences import sentences
from gristmill.text.unicode.unicode_words import UnicodeWords


def tag(batch: Batch) -> dict[str, Any]:
    r"""The lengths of each document.

    * `characters`: code points. `stripped_characters`: the same without white space at both ends.
    * `bytes`: bytes in UTF-8.
    * `words`: words between white space. None if more than half of the text is Chinese, Japanese, Thai or in another
      script without spaces.
    * `runs`: runs of word characters and runs of other marks: `don't!` has four. Dolma's whitespace_tokenizer_v1 is
      one more, because it counts what is between them.
    * `unicode_pieces`: the pieces that UAX #29 divides the text into, also spaces, without those at both ends.
    * `unicode_words`: those of them that are not white space. None if more than half of the text is Thai, Lao, Khmer
      or Burmese, which the standard leaves to dictionaries.
    * `lines`: line feeds and one. `paragraphs`: lines with more than white space.
    * `sentences`: as `gristmill.text.unicode.sentences` divides texts.

    >>> from gristmill.lake.rows.document import Document
    >>> labels = tag(Batch([Document(id="a", text="Don't panic!\n\n42 Mühlen.\n", source="tales")]))
    >>> [int(labels[name][0]) for name in ("characters", "bytes", "words", "runs", "unicode_words", "paragraphs")]
    [25, 26, 4, 8, 6, 2]
    """
    return batch.measured(_measure_column, measured_huge)


def _measure_column(column: TextColumn) -> Measured:
    points, words, pieces = column.points, column.words, column.unicode_words
    no_spaces, no_rules = column.unspaced
    heads, tails = words.edges(points.bounds[:-1], points.bounds[1:] - 1)
    return {
        "characters": points.lengths,
        "stripped_characters": tails - heads,
        "bytes": _utf8_sizes(points),
        "words": np.ma.MaskedArray(words.counts, mask=no_spaces),
        "runs": column.runs.counts,
        "unicode_pieces": pieces.count_pieces_within(heads, tails),
        "unicode_words": np.ma.MaskedArray(pieces.per_text(pieces.has_ink), mask=no_rules),
        "lines": column.lines.counts,
        "paragraphs": column.paragraphs.counts,
        "sentences": sentences(points, column.runs),
    }


def measured_huge(text: str, size: int = WINDOW) -> dict[str, Any]:
    """The labels of one huge text, computed in windows.

    Args:
        text: any text.
        size: code points of a window.
    """
    sums = Counter[str]()
    start, end = strip_window(text, Window(0, len(text)))
    for window in sentence_windows(text, size):
        column = TextColumn([0], points_of(text, window))
        inside = Window(max(window.start, start), min(window.end, end))
        sums.update(_window_sums(column))
        if inside == window:
            sums["unicode_pieces"] += int(column.unicode_words.counts[0])
        elif inside.start < inside.end:
            sums["unicode_pieces"] += int(UnicodeWords.of(points_of(text, inside)).counts[0])
        if window.end < len(text):
            sums["paragraphs"] -= text[window.end - 1] != "\n"  # both windows have counted this line
    black, no_spaces, no_rules = (sums.pop(name) for name in ("black", "no_spaces", "no_rules"))
    known = {"characters": len(text), "stripped_characters": end - start, "lines": text.count("\n") + 1}
    labels: dict[str, Any] = {name: np.array([value]) for name, value in (known | sums).items()}
    for name, count in (("words", no_spaces), ("unicode_words", no_rules)):
        labels[name] = np.ma.MaskedArray(labels[name], mask=[2 * count > black])
    return labels


def _window_sums(column: TextColumn) -> dict[str, int]:
    """What is summed over the windows of a text."""
    points, pieces = column.points, column.unicode_words
    black, no_spaces, no_rules = script_counts(points)
    sums = {
        "bytes": _utf8_sizes(points),
        "words": column.words.counts,
        "runs": column.runs.counts,
        "unicode_pieces": np.zeros(1, np.int64),
        "unicode_words": pieces.per_text(pieces.has_ink),
        "paragraphs": column.paragraphs.counts,
        "sentences": sentences(points, column.runs),
        "black": black,
        "no_spaces": no_spaces,
        "no_rules": no_rules,
    }
    return {name: int(values[0]) for name, values in sums.items()}


def _utf8_sizes(points: CodePoints) -> Numbers:
    """The size of each text in UTF-8, shape (texts,): a byte more from U+0080 on, from U+0800 on, from U+10000 on."""
    sizes = points.lengths.copy()
    if points.units.itemsize > 1:
        (places,) = np.nonzero(points.units >= 0x80)
        units = points.units[places]
        for first in (0x80, 0x800, 0x10000):
            places, units = places[units >= first], units[units >= first]
            sizes += np.diff(np.searchsorted(places, points.bounds))
    return sizes


LENGTHS = Tagger(
    name="lengths-1",
    batch=tag,
    labels=(
        Score("characters", "code points", unit="code points", low=0),
        Score("stripped_characters", "code points without white space at both ends", unit="code points", low=0),
        Score("bytes", "bytes in UTF-8", unit="bytes", low=0),
        Score(
            "words",
            "words between white space; none of scripts without spaces",
            unit="words",
            low=0,
            optional=True,
            words=True,
        ),
        Score("runs", "runs of word characters, and runs of other marks", unit="runs", low=0),
        Score("unicode_pieces", "pieces between word boundaries of UAX #29", unit="pieces", low=0),
        Score(
            "unicode_words",
            "such pieces that are not white space; none of Thai and its like",
            unit="words",
            low=0,
            optional=True,
        ),
        Score("lines", "line feeds and one", unit="lines", low=1),
        Score("paragraphs", "lines with more than white space", unit="paragraphs", low=0),
        Score("sentences", "sentences, by the marks that end them", unit="sentences", low=0),
    ),
    parameters={"characters": "Unicode 14.0", "word_break": "Unicode 16.0", "sentences": 1},
    description="Code points, bytes, words, Unicode words, lines, paragraphs and sentences.",
)
