"""REDPAJAMA_LINES: the quality signals of RedPajama-Data v2 that say something about each line, as spans.

Source: togethercomputer/RedPajama-Data, commit 855a8e02, app/src/core/quality_signals/lines.py. Each label has one span
for each line, as there: a line takes its line feed along, and nothing after the last line feed is no line. The names
are the original's, `punctution` too. A text in scripts without spaces has no numbers of words; the original counts its
lines as words.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Spans, Tagger
from gristmill.text.characters.sets import Characters, numeric_characters, uppercase_characters
from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.column import TextColumn
from gristmill.text.lines import Lines
from gristmill.text.pieces import Pieces
from gristmill.text.rounding import round_like_python

ENDS = ".!?”"
BULLETS = "•‣▶◀◦■□▪▫–"  # noqa: RUF001 - the last is a dash
_DIGITS = 8
_WORD = "javascript"


def tag(batch: Batch) -> dict[str, Any]:
    """The signals of a batch of documents."""
    return batch.in_blocks(measured)


def measured(column: TextColumn) -> dict[str, Any]:
    """The signals of the texts of one column."""
    plain = column.normalized
    words, units = column.words, column.points.units
    firsts, lasts = column.first_words[:-1], column.first_words[1:] - 1
    (filled,) = np.nonzero(lasts >= firsts)
    counts = np.diff(plain.first_words)
    sizes = np.diff(plain.words.before[plain.first_words]) + np.maximum(counts - 1, 0)  # one space between words
    pieces, kept = _with_line_feeds(column)
    signals = {
        "ending_with_terminal_punctution_mark": _mark_places(
            len(counts), filled, Characters.of(ENDS).among_units(units[words.ends[lasts[filled]] - 1])
        ),
        "javascript_counts": _counts_of_word(plain),
        "num_words": counts,
        "numerical_chars_fraction": _divide_parts(
            _characters_in_lines(plain.points, plain.lines, numeric_characters()), sizes
        ),
        "start_with_bulletpoint": _mark_places(
            len(counts), filled, Characters.of(BULLETS).among_units(units[words.starts[firsts[filled]]])
        ),
    }
    found: dict[str, Any] = {
        f"rps_lines_{name}": pieces.spans(values[kept].astype(np.float64)) for name, values in signals.items()
    }
    shouted = _divide_parts(
        _characters_in_lines(column.points, column.lines, uppercase_characters())[kept], pieces.lengths
    )
    found["rps_lines_uppercase_letter_fraction"] = pieces.spans(shouted)
    unknown = column.unspaced[0].tolist()
    of_words = [None if each else spans for each, spans in zip(unknown, found["rps_lines_num_words"], strict=True)]
    return {**found, "rps_lines_num_words": of_words}


def _with_line_feeds(column: TextColumn) -> tuple[Pieces, NDArray[np.bool_]]:
    """The lines with their line feeds, and which of `column.lines` they are: all but empty last ones."""
    lines, bounds = column.lines, column.points.bounds
    last = np.zeros(len(lines.starts), np.bool_)
    last[lines.bounds[1:] - 1] = True
    kept = ~last | (lines.lengths > 0)
    starts = lines.starts[kept]
    ends = (lines.ends + ~last)[kept]
    return Pieces(column.points, starts, ends, np.searchsorted(starts, bounds)), kept


def _mark_places(count: int, places: Numbers, chosen: NDArray[np.bool_]) -> Numbers:
    marks = np.zeros(count, np.int64)
    marks[places[chosen]] = 1
    return marks


def _characters_in_lines(points: CodePoints, lines: Lines, characters: Characters) -> Numbers:
    """How many of these characters each line has."""
    (places,) = np.nonzero(characters.among(points))
    return np.searchsorted(places, lines.ends) - np.searchsorted(places, lines.starts)


def _divide_parts(parts: Numbers, wholes: Numbers) -> NDArray[np.float64]:
    return round_like_python(parts / np.maximum(wholes, 1), _DIGITS)


def _counts_of_word(plain: TextColumn) -> Numbers:
    """How many words of each normalized line are `javascript`."""
    words = plain.words
    (places,) = np.nonzero(words.lengths == len(_WORD))
    for at, character in enumerate(_WORD):
        places = places[plain.points.units[words.starts[places] + at] == ord(character)]
    return np.diff(np.searchsorted(places, plain.first_words))


def _line_span_label(name: str, meaning: str, *, high: float | None = None, words: bool = False) -> Spans:
    return Spans(f"rps_lines_{name}", meaning, low=0, high=high, optional=words, exact=True, words=words)


REDPAJAMA_LINES = Tagger(
    name="redpajama-lines-1",
    batch=tag,
    labels=(
        _line_span_label(
            "ending_with_terminal_punctution_mark", f"each line, 1 if it ends with one of `{ENDS}`", high=1
        ),
        _line_span_label("javascript_counts", f"each line, with the number of its normalized words that are `{_WORD}`"),
        _line_span_label("num_words", "each line, with the number of its normalized words", words=True),
        _line_span_label("numerical_chars_fraction", "each line, with the share of numbers in it, normalized", high=1),
        _line_span_label("start_with_bulletpoint", f"each line, 1 if it begins with one of `{BULLETS}`", high=1),
        _line_span_label("uppercase_letter_fraction", "each line, with the share of capitals", high=1),
    ),
    parameters={"ends": ENDS, "bullets": BULLETS, "digits": _DIGITS},
    description="The signals of RedPajama-Data v2 about lines, one span a line.",
)
