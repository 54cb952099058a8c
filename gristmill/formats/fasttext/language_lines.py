"""The languages of parts of documents: of their lines, which are what Dolma calls paragraphs."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gristmill.formats.fasttext.lid176 import CODE_POINTS, LANGUAGES, languages_of

_BLACK = re.compile(r"\S")
_TOGETHER = 10_000
_TOGETHER_POINTS = 1 << 20


class LanguageLine(NamedTuple):
    """A line that is not blank.

    Attributes:
        document: its document's index.
        start: its first code point.
        end: the code point after its last one; its line feed is left out.
        languages: its likeliest languages with their probabilities, the likeliest first.
    """

    document: int
    start: int
    end: int
    languages: list[tuple[str, float]]


def language_lines(texts: Sequence[str], most: int = LANGUAGES) -> Iterator[LanguageLine]:
    r"""The lines of texts in their order, without blank ones.

    A line is put in lower case, and white space at its ends is left out, as Dolma does before it asks fastText.

    Args:
        texts: any texts.
        most: languages of a line at most.

    >>> [(line.document, line.start, line.end) for line in language_lines(["One mill.", "Two mills.\n\n by a river"])]
    [(0, 0, 9), (1, 0, 10), (1, 12, 23)]
    """
    waiting: list[tuple[int, int, int, str]] = []
    points = 0
    for line in _lines(texts):
        waiting.append(line)
        points += len(line[-1])
        if len(waiting) == _TOGETHER or points > _TOGETHER_POINTS:
            yield from _found(waiting, most)
            waiting, points = [], 0
    yield from _found(waiting, most)


def _found(lines: Sequence[tuple[int, int, int, str]], most: int) -> Iterator[LanguageLine]:
    found = languages_of([beginning for *_, beginning in lines], most)
    for (document, start, end, _), languages in zip(lines, found, strict=True):
        yield LanguageLine(document, start, end, languages)


def _lines(texts: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """The lines that are not blank: document, start, end, and as much of their beginning as is looked at."""
    for document, text in enumerate(texts):
        start = 0
        while start <= len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            beginning = text[start : min(end, start + CODE_POINTS)].lower().strip()
            if end - start > CODE_POINTS:  # a huge line: white space before its beginning does not count
                first = _BLACK.search(text, start, end)
                beginning = text[first.start() : min(end, first.start() + CODE_POINTS)].lower().strip() if first else ""
            if beginning:
                yield document, start, end, beginning
            start = end + 1
