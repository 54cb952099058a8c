r"""Blocks: a huge text is measured block by block, each as though it were a text, and what was found is put together.

Blocks are whole lines. A line of more than 1,048,576 code points is divided, and each part counts as a line.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gristmill.text.characters.scripts import script_counts
from gristmill.text.characters.sets import Chosen
from gristmill.text.code_points import CodePoints
from gristmill.text.column import TextColumn
from gristmill.text.huge.limits import MOST_SPANS, TooManySpans
from gristmill.text.huge.windows import HUGE, Window

Cut = Callable[[str, int, int], int]
"""Takes a text and a stretch of it; returns where a block that begins there ends, or its begin if there is no place."""

Sums = Mapping[str, Any]
"""For each label an array of numbers that are added, or a list of arrays of spans or None, with one entry a text."""


def last_line_end(text: str, start: int, end: int) -> int:
    r"""The end of the last line that ends in a stretch; `start` if none does.

    Args:
        text: any text.
        start: offset where the stretch begins.
        end: offset where the stretch ends.

    >>> last_line_end("to\nbe or", 0, 6)
    3
    """
    return text.rfind("\n", start, end) + 1 or start


def blocks(text: str, cut: Cut = last_line_end, size: int = HUGE) -> Iterator[Window]:
    r"""The blocks of a text.

    Args:
        text: any text.
        cut: function that finds the ends of blocks. If it finds no place, a block ends after white space, or else after
            `size` code points.
        size: most code points of a block.

    Yields:
        The blocks, which cover the text without gaps. An empty text has one.

    >>> [tuple(block) for block in blocks("to\nbe\nor not", size=5)]
    [(0, 3), (3, 6), (6, 9), (9, 12)]
    """
    start = 0
    while len(text) - start > size:
        end = cut(text, start, start + size)
        if end <= start:
            end = _last_word_end(text, start, start + size)
        yield Window(start, end)
        start = end
    yield Window(start, len(text))


def _last_word_end(text: str, start: int, end: int) -> int:
    """Where the last white space of a stretch ends; the end of the stretch if it has none."""
    stretch = text[start:end]
    word = stretch.rsplit(None, 1)[-1:]
    if not word or stretch[-1].isspace() or len(word[0]) == len(stretch):
        return end
    return end - len(word[0])


def measured_in_blocks(
    text: str, measure: Callable[[TextColumn], Sums], cut: Cut = last_line_end, size: int = HUGE
) -> dict[str, Any]:
    r"""Measures one text block by block.

    Args:
        text: a huge text.
        measure: function that takes a column of one text, and returns what was found in it. Spans are those of the
            block.
        cut: function that finds the ends of blocks, as for `blocks`.
        size: least size of a block in bytes, as for `blocks`.

    Returns:
        For each label an array with the sum of all blocks, or a list of one array of all spans, or of None.

    Raises:
        TooManySpans: a label has more than 1,000,000.

    >>> def measured(column):
    ...     return {"words": column.words.counts, "lines": column.lines.spans(column.lines.lengths)}
    >>> found = measured_in_blocks("to\nbe", measured, size=3)
    >>> found["words"].tolist(), found["lines"][0].tolist()
    ([2], [[0, 2, 2], [3, 3, 0], [3, 5, 2]])
    """
    whole = is_unspaced_text(text, size)
    sums: dict[str, Any] = {}
    spans: dict[str, list[Any]] = {}
    counts: dict[str, int] = {}
    for start, end in blocks(text, cut, size):
        column = TextColumn([0], CodePoints.of([text[start:end]]), whole)
        for label, values in measure(column).items():
            if isinstance(values, np.ndarray):
                sums[label] = sums.get(label, 0) + values
                continue
            (found,) = values
            if found is not None and len(found):
                found[:, :2] += start
                counts[label] = counts.get(label, 0) + len(found)
                if counts[label] > MOST_SPANS:
                    raise TooManySpans(label)
            each = spans.setdefault(label, [])
            if not each or (found is not None and len(found)):
                each.append(found)
    joined = {label: [each[0] if each[0] is None else np.concatenate(each)] for label, each in spans.items()}
    return sums | joined


def is_unspaced_text(text: str, size: int = HUGE) -> tuple[Chosen, Chosen]:
    """Whether a huge text is in scripts without spaces, and in those without rules; see `characters.scripts.unspaced`.

    Args:
        text: any text.
        size: code points that are looked at together.

    Returns:
        Two arrays, shape (1,) each.
    """
    black = np.zeros(3, np.int64)
    if not text.isascii():
        for start in range(0, len(text), size):
            black += np.concatenate(script_counts(CodePoints.of([text[start : start + size]], wide=True)))
    return 2 * black[1:2] > black[0], 2 * black[2:] > black[0]
