"""How many bytes texts take in UTF-8."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ByteSizes = npt.NDArray[np.int64]
"""Bytes of UTF-8 of each text."""

STRETCH = 2**20
"""Characters, or tokens, of a huge text that are looked at together."""


def sizes_of(texts: Sequence[str]) -> ByteSizes:
    """Bytes of UTF-8 of each text."""
    return np.fromiter(map(size_of, texts), np.int64, len(texts))


def size_of(text: str) -> int:
    """Bytes of a text's UTF-8; a huge one is never encoded whole."""
    if text.isascii():
        return len(text)
    if len(text) <= STRETCH:
        return len(text.encode())
    return sum(len(text[start : start + STRETCH].encode()) for start in range(0, len(text), STRETCH))
