"""Scripts that are written without spaces between words: where words between white space mean nothing."""

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


def unspaced(column: CodePoints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether more than half of each text, without its white space, is written in scripts without spaces.

    Args:
        column: the texts.

    Returns:
        Two arrays of shape (texts,). The first is for all such scripts: Chinese, Japanese, Tibetan, Thai, Lao, Khmer,
        Burmese, Tai. The second is for those that UAX #29 leaves to dictionaries, from Thai on.

    >>> [answer.tolist() for answer in unspaced(CodePoints.of(["ไปโรงเรียน", "日本語 OK", "日 words"]))]
    [[True, True, False], [True, False, False]]
    """
    if column.units.itemsize == 1:
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
    black = np.add.reduceat((column.kinds & SPACE) == 0, column.bounds[:-1], dtype=np.int64)
    kinds = _table().take(column.units)
    no_spaces = np.add.reduceat(kinds != 0, column.bounds[:-1], dtype=np.int64)
    return black, no_spaces, np.add.reduceat(kinds == _NO_RULES, column.bounds[:-1], dtype=np.int64)


@cache
def _table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for blocks, kind in ((_BY_CHARACTER, _NO_SPACES), (_BY_DICTIONARY, _NO_RULES)):
        for first, last in blocks:
            table[first : last + 1] = kind
    return table
