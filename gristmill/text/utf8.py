"""Sizes of texts in UTF-8."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ByteSizes = npt.NDArray[np.int64]
"""Bytes of UTF-8 of each text."""

STRETCH = 2**20
"""Characters, or tokens, of a huge text that are processed together."""


def utf8_sizes(texts: Sequence[str]) -> ByteSizes:
    """The size of each text in bytes of UTF-8, shape (texts,).

    Raises:
        UnicodeEncodeError: a text has a lone surrogate.

    >>> utf8_sizes(["mill", "Mühle", ""]).tolist()
    [4, 6, 0]
    """
    return np.fromiter(map(utf8_size, texts), np.int64, len(texts))


def utf8_size(text: str) -> int:
    """The size of a text in bytes of UTF-8. A huge text is encoded in pieces, to save memory.

    Raises:
        UnicodeEncodeError: the text has a lone surrogate.

    >>> utf8_size("Mühle")
    6
    """
    if text.isascii():
        return len(text)
    if len(text) <= STRETCH:
        return len(text.encode())
    return sum(len(text[start : start + STRETCH].encode()) for start in range(0, len(text), STRETCH))
