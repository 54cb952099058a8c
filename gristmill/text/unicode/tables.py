"""Tables of Unicode properties, read from the files of `gristmill/text/unicode`. They do not change with Python."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.uint8] | NDArray[np.uint16]
"""Bits of properties, one number for each code point."""

_FILES = Path(__file__).parent
_CODE_POINTS = 0x110000

WORD, MARK, SPACE, EMOJI = 1, 2, 4, 8
"""Bits of `characters()`. WORD: part of a word, as UTS #18 defines `\\w`. MARK: punctuation or a symbol. SPACE: the
property White_Space. EMOJI: a pictogram of one of four blocks."""

_SPACES = (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_EMOJI = ((0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x2600, 0x27BF))


@cache
def character_flags() -> Flags:
    r"""The bits WORD, MARK, SPACE and EMOJI of each code point (0x110000), by Unicode 14.0.

    They equal the classes `\w`, `[[:punct:]]` and `\s` of the package `regex` for the code points that Unicode 14.0
    assigns. Its release 2026.11 knows the characters of 17.0; here later ones have no bit. The file has the first two.

    >>> character_flags()[[ord("a"), ord("_"), ord("!"), ord(" "), 0x1F600]].tolist()
    [1, 3, 2, 4, 10]
    """
    flags = property_table("characters.txt", {"Word": WORD, "Mark": MARK})
    flags[list(_SPACES)] |= SPACE
    for first, last in _EMOJI:
        flags[first : last + 1] |= EMOJI
    return flags.astype(np.uint8)


def property_table(file: str, bits: Mapping[str, int]) -> NDArray[np.uint16]:
    """The flags of every code point.

    Args:
        file: name of a file in `gristmill/text/unicode`. Each line has the first and the last code point of a range,
            and the names of its properties, joined by `+`.
        bits: the bits of each property; 0 in the result means that none applies.

    Returns:
        Shape (1114112,), by code point.

    >>> property_table("characters.txt", {"Word": 1, "Mark": 2})[[ord("a"), ord("_"), ord("?"), ord(" ")]].tolist()
    [1, 3, 2, 0]
    """
    flags = np.zeros(_CODE_POINTS, np.uint16)
    for line in (_FILES / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            first, last, names = line.split()
            flags[int(first, 16) : int(last, 16) + 1] = sum(bits[name] for name in names.split("+"))
    return flags


def look_up_flags(units: NDArray[Any], table: Flags) -> Flags:
    """The flags of each code point of a column.

    Args:
        units: code points, any shape.
        table: the flags of all code points.

    Returns:
        The flags, in the shape of `units`. Those of a column of bytes are bytes: their lower eight bits, which
        `bytes.translate` puts in five times faster.
    """
    if units.itemsize > 1:
        return table.take(units)
    flags = units.tobytes().translate(table[:256].astype(np.uint8).tobytes())
    return np.frombuffer(flags, np.uint8).reshape(units.shape)
