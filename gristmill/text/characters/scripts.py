"""Scripts that are written without spaces between words: where words between white space mean nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import SPACE, CodePoints, Numbers

# Blocks of Unicode. Those that UAX #29 leaves to dictionaries come first.
_BY_DICTIONARY = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF),
)  # fmt: skip
_BY_CHARACTER = (
    (0x0F00, 0x0FFF), (0x2E80, 0x303F), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x323AF),
)  # fmt: skip
_NO_SPACES, _NO_RULES = 1, 2
_FIRST = 0x0E00
"""The lowest code point of these blocks."""
_KANA = "ja"
_LANGUAGES = (
    ("th", 0x0E00, 0x0E7F), ("lo", 0x0E80, 0x0EFF), ("bo", 0x0F00, 0x0FFF), ("my", 0x1000, 0x109F),
    ("km", 0x1780, 0x17FF), ("km", 0x19E0, 0x19FF), ("my", 0xA9E0, 0xA9FF), ("my", 0xAA60, 0xAA7F),
    ("zh", 0x2E80, 0x2FDF), ("zh", 0x3005, 0x3007), ("zh", 0x3400, 0x4DBF), ("zh", 0x4E00, 0x9FFF),
    ("zh", 0xF900, 0xFAFF), ("zh", 0x20000, 0x323AF), (_KANA, 0x3040, 0x30FF), (_KANA, 0x31F0, 0x31FF),
    (_KANA, 0xFF66, 0xFF9F),
)  # fmt: skip
SPACELESS = tuple(dict.fromkeys(language for language, _, _ in _LANGUAGES))
"""The languages that `language_by_script` knows, by their codes of ISO 639-1."""
_FEWEST_KANA = 20
_divided = ContextVar("divided", default=False)


@contextmanager
def assume_divided_texts() -> Iterator[None]:
    """In this context all texts have spaces between their words, whatever their script: somebody has put them there.

    >>> with assume_divided_texts():
    ...     is_unspaced_script(CodePoints.of(["ไป โรงเรียน"]))[0].tolist()
    [False]
    """
    before = _divided.set(True)
    try:
        yield
    finally:
        _divided.reset(before)


def language_by_script(text: str) -> str | None:
    """The language of a text that is written without spaces, by its script alone.

    Chinese and Japanese share a script: a text is Japanese if at least one in 20 of these characters is kana.

    Args:
        text: any text.

    Returns:
        One of SPACELESS; None if most of the text is of another script.

    >>> [language_by_script(text) for text in ("ไปโรงเรียน", "日本へ行く", "去日本", "to 日本")]
    ['th', 'ja', 'zh', None]
    """
    points = CodePoints.of([text])
    if points.units.itemsize == 1 or not is_unspaced_script(points)[0][0]:
        return None
    found = np.bincount(_language_table().take(points.units), minlength=len(SPACELESS) + 1)[1:].tolist()
    counts = dict(zip(SPACELESS, found, strict=True))
    if counts[_KANA] * _FEWEST_KANA >= counts["zh"] + counts[_KANA]:
        counts[_KANA] += counts.pop("zh")
    most = max(counts, key=lambda language: counts[language])
    return most if counts[most] else None


def is_unspaced_script(column: CodePoints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether more than half of each text, without its white space, is written in scripts without spaces.

    Args:
        column: the texts.

    Returns:
        Two arrays of shape (texts,). The first is for all such scripts: Chinese, Japanese, Tibetan, Thai, Lao, Khmer,
        Burmese, Tai. The second is for those that UAX #29 leaves to dictionaries, from Thai on.

    >>> [answer.tolist() for answer in is_unspaced_script(CodePoints.of(["ไปโรงเรียน", "日本語 OK", "日 words"]))]
    [[True, True, False], [True, False, False]]
    """
    if column.units.itemsize == 1 or _divided.get() or int(column.units.max()) < _FIRST:
        none = np.zeros(len(column.lengths), np.bool_)
        return none, none
    black, no_spaces, no_rules = script_counts(column)
    return 2 * no_spaces > black, 2 * no_rules > black


def script_counts(column: CodePoints) -> tuple[Numbers, Numbers, Numbers]:
    """How many code points of each text are no white space, of scripts without spaces, and left out by UAX #29.

    Args:
        column: the texts.

    Returns:
        Three arrays of shape (texts,).

    >>> [counts.tolist() for counts in script_counts(CodePoints.of(["ไป 日 OK"]))]
    [[5], [3], [2]]
    """
    spaces = np.flatnonzero((column.kinds & SPACE) != 0)  # and the line feed after each text
    black = column.lengths + 1 - np.diff(np.searchsorted(spaces, column.bounds))
    if _divided.get():
        return black, np.zeros_like(black), np.zeros_like(black)
    (places,) = np.nonzero(column.units >= _FIRST)
    kinds = _unspaced_script_table().take(column.units[places])
    no_spaces, no_rules = (
        np.diff(np.searchsorted(found, column.bounds)) for found in (places[kinds != 0], places[kinds == _NO_RULES])
    )
    return black, no_spaces, no_rules


def spaceless_blocks() -> tuple[tuple[int, int], ...]:
    """The first and the last code point of each block of the scripts without spaces.

    >>> (0x4E00, 0x9FFF) in spaceless_blocks()
    True
    """
    return _BY_DICTIONARY + _BY_CHARACTER


@cache
def _unspaced_script_table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for blocks, kind in ((_BY_CHARACTER, _NO_SPACES), (_BY_DICTIONARY, _NO_RULES)):
        for first, last in blocks:
            table[first : last + 1] = kind
    return table


@cache
def _language_table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for language, first, last in _LANGUAGES:
        table[first : last + 1] = SPACELESS.index(language) + 1
    return table
