"""The languages of parts of documents: of their lines, which are what Dolma calls paragraphs."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gristmill.formats.fasttext.lid176 import LANGUAGES, languages_of

_TOGETHER = 10_000


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
    lines = _lines(texts)
    while some := list(islice(lines, _TOGETHER)):
        found = languages_of([line.lower().strip() for _, _, line in some], most)
        for (document, start, line), languages in zip(some, found, strict=True):
            yield LanguageLine(document, start, start + len(line), languages)


def _lines(texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for document, text in enumerate(texts):
        start = 0
        for line in text.split("\n"):
            if line and not line.isspace():
                yield document, start, line
            start += len(line) + 1
