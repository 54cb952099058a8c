"""Splits huge texts at places where this does not change ids. So they are encoded in bounded memory.

A text is split only where the tokenizer itself ends a word: before a line feed or space between two letters, if its
pre-tokenizer ends words there (`word_break_characters`). The characters around the place must also have the same ids
separately and joined. The patterns of pre-tokenizers look ahead but not back. So the text after
a split is cut into the same words as in the whole text, and no word that ends at a split is longer in the whole text.
"""

import re
from collections.abc import Callable, Iterator

from tokenizers import Tokenizer

WINDOW = 2**22
"""Characters per part, about. Texts of up to one and a half times as many are not split."""
AROUND = 256
"""Characters on each side of a place that are encoded to check it. No added token may be longer."""
TRIES = 64
"""Places that are tried before the rest of a text is left whole."""
LETTERS = "aZqX\u00e9\u00df\u03a3\u0436\u05d0\u0628\u0915\u0e01\u4f60\u3042\ud55c"
"""Letters of several scripts and cases, for the check of a tokenizer."""
BREAKS = "\n "
"""Characters before which a text may be split, if the tokenizer ends words there."""


def word_break_characters(reference: Tokenizer) -> str:
    r"""The characters, of line feed and space, before which the tokenizer ends a word between any two letters.

    Args:
        reference: the tokenizer, loaded by `tokenizers`.

    >>> from tokenizers import models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> word_break_characters(tokenizer)
    '\n '
    """
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


def safe_windows(text: str, suffix: str, breaks: str, agrees: Callable[[str, str], bool]) -> Iterator[str]:
    r"""The parts of a text with its suffix. Encoded one after another, they give the ids of the whole.

    Args:
        text: a text of any length. Up to one and a half times WINDOW characters it is one part.
        suffix: text that is appended to the last part.
        breaks: characters before which a word ends, as from word_break_characters().
        agrees: whether two strings have the same ids separately and joined.

    >>> list(safe_windows("a mill by a river", "</s>", "\n ", lambda left, right: True))
    ['a mill by a river</s>']
    """
    start = 0
    fit = re.compile(rf"[^\W\d_](?=[{breaks}][^\W\d_])") if breaks else None
    while fit is not None and len(text) - start > WINDOW + WINDOW // 2:
        end = _first_safe_place(text, start + WINDOW, fit, agrees)
        if end is None:
            break
        yield text[start:end]
        start = end
    yield text[start:] + suffix


def _first_safe_place(text: str, begin: int, fit: re.Pattern[str], agrees: Callable[[str, str], bool]) -> int | None:
    """The first place at or after `begin` to split the text; None if none of the first TRIES places is safe."""
    for _ in range(TRIES):
        match = fit.search(text, begin)
        if match is None:
            return None
        place = match.end()
        if agrees(text[max(0, place - AROUND) : place], text[place : place + AROUND]):
            return place
        begin = place
    return None
