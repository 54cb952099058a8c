r"""Windows: the stretches in which a huge text is processed, so that the arrays of a stretch are small.

A text of 100 million code points has a string of 100 to 400 MB already. As one column it would need 3 GB more.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import xxhash

from gristmill.text.code_points import CodePoints

HUGE = 1 << 20
"""A text of more code points is huge: it is measured in windows or in blocks."""
WINDOW = 1 << 20
"""Code points of a window, about."""

_SPACE, _BLACK = re.compile(r"\s"), re.compile(r"\S")
_SENTENCE = re.compile(r"\n|(?<=[A-Za-z0-9][.!?] )(?=[A-Za-z0-9])")


class Window(NamedTuple):
    """A stretch of a text.

    Attributes:
        start: the first code point.
        end: the code point after the last one.
    """

    start: int
    end: int


def word_windows(text: str, size: int = WINDOW) -> Iterator[Window]:
    """Windows that cut no word of `str.split()`: each but the last ends with white space.

    Args:
        text: any text.
        size: most code points of a window. Only a longer word makes a longer window, which has this word alone.

    Yields:
        The windows, which cover the text without gaps.

    >>> list(word_windows("to be or not", size=6))
    [Window(start=0, end=6), Window(start=6, end=12)]
    """
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            stretch = text[start:end]
            last = stretch.rsplit(None, 1)[-1:]
            if not stretch[-1].isspace() and last:
                end -= len(last[0])
            if end == start:
                space = _SPACE.search(text, start + size)
                end = space.end() if space else len(text)
        yield Window(start, end)
        start = end


def line_windows(text: str, size: int = WINDOW) -> Iterator[Window]:
    r"""Windows that cut no line of `str.split("\n")`. The line feed between two windows is in neither of them.

    Args:
        text: any text.
        size: most code points of a window. Only a longer line makes a longer window, which has this line alone.

    Yields:
        The windows: `text[start:end].split("\n")` of all of them are the lines of the text.

    >>> list(line_windows("to\nbe\nor\n", size=6))
    [Window(start=0, end=5), Window(start=6, end=9)]
    """
    start = 0
    while start <= len(text):
        end = len(text)
        if end - start > size:
            end = text.rfind("\n", start, start + size)
            if end < 0:
                end = text.find("\n", start + size)
            end = len(text) if end < 0 else end
        yield Window(start, end)
        start = end + 1


def sentence_windows(text: str, size: int = WINDOW) -> Iterator[Window]:
    r"""Windows that end after a line feed, or in longer lines after a sentence: `.`, `!` or `?` and one space.

    Before that mark and after that space is an ASCII letter or digit. So no run, no sentence and no piece of UAX #29 is
    cut, except the piece that a carriage return and its line feed are.

    Args:
        text: any text.
        size: most code points of a window, if the text has such a place in them. Else the window ends at the next one.

    Yields:
        The windows, which cover the text without gaps. An empty text has one.

    >>> list(sentence_windows("To be. Or\nnot to be. To", size=9))
    [Window(start=0, end=7), Window(start=7, end=10), Window(start=10, end=21), Window(start=21, end=23)]
    """
    if not text:
        yield Window(0, 0)
    start = 0
    while start < len(text):
        end = len(text)
        if end - start > size:
            cut = text.rfind("\n", start, start + size) + 1
            if not cut:
                for place in _SENTENCE.finditer(text, start + 1, start + size):
                    cut = place.end()
            if not cut:
                place_after = _SENTENCE.search(text, start + size)
                cut = place_after.end() if place_after else end
            end = cut
        yield Window(start, end)
        start = end


def strip_window(text: str, window: Window) -> Window:
    """A stretch without the white space at both ends, found without a copy of it. White space alone ends at its start.

    Args:
        text: any text.
        window: the stretch.

    >>> strip_window("to  be  ", Window(2, 8))
    Window(start=4, end=6)
    """
    first = _BLACK.search(text, *window)
    if not first:
        return Window(window.start, window.start)
    end = window.end
    while text[end - 1].isspace():
        start = max(end - WINDOW, window.start)
        end = start + len(text[start:end].rstrip())
    return Window(first.start(), end)


def points_of(text: str, window: Window) -> CodePoints:
    """A window of a text as a column of one text. The hashes of all windows of a text can be compared.

    Args:
        text: a huge text.
        window: part of the text.

    >>> points_of("zwölf Mühlen", Window(6, 12)).units.dtype.name
    'uint32'
    """
    return CodePoints.of([text[window.start : window.end]], wide=not text.isascii())


def hash_of(text: str, window: Window) -> int:
    """A 64-bit hash of one huge word or line, which may be as long as the text. Not comparable with other hashes.

    Args:
        text: a huge text.
        window: the word or line.
    """
    digest = xxhash.xxh3_64()
    for start in range(window.start, window.end, WINDOW):
        digest.update(text[start : min(start + WINDOW, window.end)].encode("utf-8", "surrogatepass"))
    return digest.intdigest()
