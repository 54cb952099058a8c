"""Stretches: the parts of a text that spans mark for a change, and the text after it."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from gristmill.errors import DataError
from gristmill.recipes.edits.edit import Edit, Overlaps

Marked = Sequence[tuple[int, int, float]]
"""The spans of one attribute of a row: (start, end, score), offsets in code points, in any order."""


class SpanOutside(DataError):  # noqa: N818 - named like MalformedRow
    """A span is not a part of its text. The caller raises MalformedRow, because only it knows the file of the row."""


class Stretch(NamedTuple):
    """A part of a text that is changed as a whole.

    Attributes:
        start: the first code point.
        end: the code point after the last one.
        edit: number of the edit that changes it.
    """

    start: int
    end: int
    edit: int


def edited_stretches(
    edits: Sequence[Edit], marked: Sequence[Marked | None], length: int, overlaps: Overlaps = "union"
) -> list[Stretch]:
    """The stretches of a text that edits change, sorted: unions of spans that overlap, or the first spans of those.

    Spans that only touch each other stay apart, so each of two addresses side by side has its replacement.

    Args:
        edits: the edits, in the order of declaration.
        marked: the spans for each edit; None: the row has none.
        length: length of the text, in code points.
        overlaps: choice for spans that overlap, as for Selection. For `first`, spans that begin together are taken in
            the order of edits and of the set.

    Raises:
        SpanOutside: a span that an edit selects begins before the text, ends after it, or ends before it begins.

    >>> edits = [Edit(spans="pii-1__email", replacement="E"), Edit(spans="pii-1__phone", mask="*")]
    >>> edited_stretches(edits, [[(4, 9, 1.0), (0, 2, 1.0)], [(1, 3, 1.0), (9, 10, 1.0)]], 10)
    [Stretch(start=0, end=3, edit=0), Stretch(start=4, end=9, edit=0), Stretch(start=9, end=10, edit=1)]
    """
    found: list[Stretch] = []
    spans = sorted(_selected_spans(edits, marked, length), key=itemgetter(0, 1))
    for start, number, end in spans:
        if found and start < found[-1].end:
            if overlaps == "first":
                continue
            last = found.pop()
            found.append(Stretch(last.start, max(last.end, end), last.edit))
        else:
            found.append(Stretch(start, end, number))
    return found


def _selected_spans(
    edits: Sequence[Edit], marked: Sequence[Marked | None], length: int
) -> Iterable[tuple[int, int, int]]:
    """(start, number of the edit, end) of the spans that are not empty."""
    for number, (edit, spans) in enumerate(zip(edits, marked, strict=True)):
        for start, end, score in spans or ():
            if not edit.selects(score):
                continue
            if not 0 <= start <= end <= length:
                raise SpanOutside(f"{edit.spans} has a span [{start}, {end}), but the text has {length} code points")
            if start < end:
                yield start, number, end


def apply_edits(text: str, edits: Sequence[Edit], parts: Iterable[Stretch]) -> str:
    """The text after all changes.

    Args:
        text: the text.
        edits: the edits.
        parts: its stretches, sorted, without overlaps.

    >>> apply_edits("to@be or not", [Edit(spans="pii-1__email", mask="*")], [Stretch(0, 5, 0)])
    '***** or not'
    """
    pieces: list[str] = []
    end = 0
    for part in parts:
        pieces += text[end : part.start], edits[part.edit].written(part.end - part.start)
        end = part.end
    return "".join([*pieces, text[end:]])
