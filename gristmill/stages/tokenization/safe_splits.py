"""Huge texts in windows: encoded one after another they give the ids of the whole, in bounded memory.

A text is parted only where the tokenizer itself parts words: before a line feed or a space between two letters, if its
pre-tokenizer does so (`breaks_of`), and only where the characters around the place have the same ids parted and whole.
The patterns of pre-tokenizers look ahead but not back, so what follows is cut as in the whole, and no word that
ends there is longer in the whole.
"""

import re
from collections.abc import Callable, Iterator

from tokenizers import Tokenizer

WINDOW = 2**22
"""Characters of a window, about; texts of up to one and a half windows are not parted."""
AROUND = 256
"""Characters on each side that are encoded to see whether a place is fit; longer than any added token."""
TRIES = 64
LETTERS = "aZqX\u00e9\u00df\u03a3\u0436\u05d0\u0628\u0915\u0e01\u4f60\u3042\ud55c"
BREAKS = "\n "


def breaks_of(reference: Tokenizer) -> str:
    """The characters, of line feed and space, before which the tokenizer ends a word between any two letters."""
    cutter = reference.pre_tokenizer
    if cutter is None or any(len(token.content) > AROUND for token in reference.get_added_tokens_decoder().values()):
        return ""
    breaks = ""
    for character in BREAKS:
        text = "".join(f"{one}{other}{character}{other}x{character}" for one in LETTERS for other in LETTERS) + "x"
        begins = {begin for _, (begin, _) in cutter.pre_tokenize_str(text)}
        if begins.issuperset(place for place, letter in enumerate(text) if letter == character):
            breaks += character
    return breaks


def windows(text: str, suffix: str, breaks: str, agrees: Callable[[str, str], bool]) -> Iterator[str]:
    """The text and what is put behind it, in windows.

    Args:
        text: of any length.
        suffix: is put behind the last window.
        breaks: see breaks_of.
        agrees: whether two strings have the same ids apart and as one.
    """
    start = 0
    fit = re.compile(rf"[^\W\d_](?=[{breaks}][^\W\d_])") if breaks else None
    while fit is not None and len(text) - start > WINDOW + WINDOW // 2:
        end = _place(text, start + WINDOW, fit, agrees)
        if end is None:
            break
        yield text[start:end]
        start = end
    yield text[start:] + suffix


def _place(text: str, begin: int, fit: re.Pattern[str], agrees: Callable[[str, str], bool]) -> int | None:
    """The first place to part the text at, from some character on; None if none of many is fit."""
    for _ in range(TRIES):
        match = fit.search(text, begin)
        if match is None:
            return None
        place = match.end()
        if agrees(text[max(0, place - AROUND) : place], text[place : place + AROUND]):
            return place
        begin = place
    return None
