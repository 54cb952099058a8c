"""UnitHashes: the spans and hashes of the units of some texts, such as their paragraphs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill.text.code_points import Numbers
from gristmill.text.units.hashes import Hashes128

TOGETHER = 1 << 19
"""Code points of texts that are processed together."""
HUGE = 1 << 22
"""A text of more code points is processed in parts, so that memory is bounded."""


@dataclass(frozen=True)
class UnitHashes:
    """The units of T texts that follow each other. A huge text comes in several of these.

    Attributes:
        first: the number of the first of these texts in the batch.
        spans: number of spans of each text (T).
        starts: offset where each span begins in its text, in code points (S).
        ends: offset where each span ends (S).
        hashes: hashes in the order of the spans (H).
        counts: number of hashes of each span (S); None: one for each.
        skipped: number of units that were left out, by the reason.
    """

    first: int
    spans: Numbers
    starts: Numbers
    ends: Numbers
    hashes: Hashes128
    counts: Numbers | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TextGroup:
    """Texts that are processed together: some whole ones, or a part of a huge one.

    Attributes:
        first: the number of the first text in the batch.
        texts: the texts, or the part.
        offset: offset in its text where the part begins, in code points.
    """

    first: int
    texts: Sequence[str]
    offset: int = 0


def text_groups(texts: Sequence[str], separator: str | None = None) -> Iterator[TextGroup]:
    r"""Divides texts into groups. A huge text is a group alone, and divided at separators.

    Args:
        texts: any texts.
        separator: text at which a huge text may be divided, as `str.split` finds it from the left. None: nowhere.

    Yields:
        The groups in the order of the texts. The separator between two parts of a text is in neither.

    >>> [(group.first, len(group.texts)) for group in text_groups(["to", "be"])]
    [(0, 2)]
    """
    first, size = 0, 0
    for number, text in enumerate(texts):
        huge = len(text) > HUGE and separator is not None
        if number > first and (huge or size + len(text) > TOGETHER):
            yield TextGroup(first, texts[first:number])
            first, size = number, 0
        if huge and separator is not None:
            for start, part in split_into_parts(text, separator, TOGETHER):
                yield TextGroup(number, [part], start)
            first, size = number + 1, 0
        else:
            size += len(text) + 1
    if first < len(texts):
        yield TextGroup(first, texts[first:])


def split_into_parts(text: str, separator: str, size: int) -> Iterator[tuple[int, str]]:
    r"""The parts of a text: each holds whole pieces between separators, as `str.split` finds them from the left.

    Args:
        text: any text.
        separator: between two pieces.
        size: code points of a part; a longer piece is a part alone.

    Yields:
        Where the part begins, and the part without the separator that follows it.

    >>> list(split_into_parts("a--b--c-d", "--", 4))
    [(0, 'a'), (3, 'b'), (6, 'c-d')]
    """
    start = 0
    while len(text) - start > size:
        window = text[start : start + size]
        end = start + len(window) - len(window.split(separator)[-1]) - len(separator)
        if end < start:  # no separator is in the window
            end = text.find(separator, start + max(size - len(separator) + 1, 0))
            if end < 0:
                break
        yield start, text[start:end]
        start = end + len(separator)
    yield start, text[start:]


def spans_of_texts(starts: Numbers, bounds: Numbers) -> Numbers:
    """The number of spans of each text (T).

    Args:
        starts: offset where each span begins in the column, ascending (S).
        bounds: offset where each text begins in the column, and the end of the last (T + 1).
    """
    return np.diff(np.searchsorted(starts, bounds))
