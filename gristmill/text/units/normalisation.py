r"""The named normalisations of texts before they are compared. A name never changes its meaning: take the next number.

`white-space-1`: each run of white space is one space, and there is none at both ends. White space is that of
`str.split`.

`words-1`: the words of the text, joined by one space. A word is a run of letters, marks, digits and the joiners U+200C
and U+200D (`\w` of UTS #18 without punctuation) in lower case, each letter by itself as Unicode 14.0 has it: a capital
sigma never becomes a final one, and İ becomes i. All else parts words. A character of a script without spaces, such as
Chinese or Thai, is a word of its own. What Unicode 14.0 does not assign is no part of a word. Composed and decomposed
letters differ.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.text.characters.scripts import spaceless_blocks
from gristmill.text.unicode.assigned import assigned
from gristmill.text.unicode.tables import MARK, WORD, character_flags

_SPACE, _LINE_FEED = 0x20, 0x0A
_CASED = 0x20000  # code points from here on have no case
_ASCII = 0x80
_FIRST_LONE = 0x0E00
_TOGETHER = 1 << 20
Codes = NDArray[np.uint32]


def normalise_text(text: str, name: str) -> str:
    r"""A text in a named normalisation.

    Args:
        text: any text.
        name: `white-space-1` or `words-1`; empty: the text unchanged.

    >>> normalise_text(" To  be,\n or NOT", "white-space-1"), normalise_text(" To  be,\n or NOT", "words-1")
    ('To be, or NOT', 'to be or not')
    >>> normalise_text("Don't!  ÉCOLE 日本 3.5", "words-1")
    'don t école 日 本 3 5'
    """
    if name == "words-1":
        return " ".join(words_text(text).split())
    return " ".join(text.split()) if name == "white-space-1" else text


def words_text(text: str) -> str:
    r"""The text in lower case, with spaces for all that is in no word, and around words of one character.

    Line feeds stay.

    >>> words_text("To be,\n日本 or")
    'to be \n 日  本  or'
    """
    if text.isascii():
        return text.encode().translate(_ascii_table()).decode("ascii")
    if len(text) > _TOGETHER:
        starts = range(0, len(text), _TOGETHER)
        return "".join([words_text(text[start : start + _TOGETHER]) for start in starts])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    lowered = lower_case_table().take(codes)
    alone = is_single_word_character().take(codes) if int(lowered.max()) >= _FIRST_LONE else np.zeros(0, np.bool_)
    if alone.any():
        lowered = np.repeat(lowered, 1 + 2 * alone.astype(np.int64))
        (places,) = np.nonzero(alone)
        places += 2 * np.arange(len(places))
        lowered[places] = lowered[places + 2] = _SPACE
    return lowered.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def lower_case_table() -> Codes:
    """Each code point that may be in a word in lower case, and a space for all others (0x110000)."""
    flags = character_flags()
    codes = np.arange(0x110000, dtype=np.uint32)
    lowered = codes.copy()
    lowered[:_CASED] = np.strings.lower(codes[:_CASED].view("U1")).view(np.uint32)
    inside = ((flags & WORD) != 0) & ((flags & MARK) == 0) & assigned()
    table = np.where(inside, lowered, np.uint32(_SPACE)).astype("<u4")
    table[_LINE_FEED] = _LINE_FEED
    table.setflags(write=False)
    return table


@cache
def is_word_character() -> NDArray[np.bool_]:
    """A flag for each code point: whether it may be in a word (0x110000)."""
    table: NDArray[np.bool_] = lower_case_table() > _SPACE
    table.setflags(write=False)
    return table


@cache
def is_single_word_character() -> NDArray[np.bool_]:
    """A flag for each code point: whether it is a word of its own (0x110000)."""
    table = np.zeros(0x110000, np.bool_)
    for first, last in spaceless_blocks():
        table[first : last + 1] = True
    table &= is_word_character()
    table.setflags(write=False)
    return table


@cache
def _ascii_table() -> bytes:
    return lower_case_table()[:_ASCII].astype(np.uint8).tobytes() + bytes([_SPACE]) * _ASCII
