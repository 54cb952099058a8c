"""The normalisation `words-1` on bytes of UTF-8, in place: five times as fast as over code points."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.text.units.normalisation import is_single_word_character, lower_case_table, words_text
from gristmill.text.units.utf8_column import decode_text, encoded_text

_SPACE, _GONE = 0x20, 0x01
_LEADS = (0xC0, 0xE0, 0xF0, 0x100)
_EDGES = np.array([0x80, 0x800, 0x10000])  # from here on, UTF-8 needs one byte more
Bytes = NDArray[np.uint8]


def words_bytes(data: bytes) -> bytes:
    """The bytes of `words_text`, but with one or more spaces where it has one.

    Args:
        data: valid UTF-8; lone surrogates have three bytes.

    >>> words_bytes("Don't! ÉCOLE 日本".encode()).split() == [each.encode() for each in "don t école 日 本".split()]
    True
    """
    plain = data.translate(_ascii_fold_table())
    if plain.isascii():
        return plain
    units = np.frombuffer(bytearray(plain), np.uint8)
    (leads,) = np.nonzero(units >= _LEADS[0])
    first = units[leads]
    parted: list[NDArray[np.int64]] = []
    shorter = False
    for width in (2, 3, 4):
        places = leads[(first >= _LEADS[width - 2]) & (first < _LEADS[width - 1])]
        codes = _decode_code_points(units, places, width)
        lowered = lower_case_table().take(codes)
        changed = np.flatnonzero(lowered != codes)
        wanted = 1 + np.searchsorted(_EDGES, lowered[changed], side="right")
        outside = lowered[changed] == _SPACE
        if np.any((wanted > width) & ~outside):  # a few letters, such as U+023A, need more bytes in lower case
            return encoded_text(words_text(decode_text(data)))
        for offset in range(width):
            units[places[changed[outside]] + offset] = _SPACE
        shorter |= _write_code_points(
            units, places[changed[~outside]], lowered[changed[~outside]], wanted[~outside], width
        )
        alone = places[is_single_word_character().take(codes)]
        parted += [alone, alone + width]
    between = np.unique(np.concatenate(parted))
    if len(between):
        units = np.insert(units, between, _SPACE)
    found = units.tobytes()
    return found.translate(None, bytes([_GONE])) if shorter else found


def _decode_code_points(units: Bytes, places: NDArray[np.int64], width: int) -> NDArray[np.uint32]:
    """The code points of `width` bytes that begin at some places."""
    codes: NDArray[np.uint32] = (units[places] & (0xFF >> (width + 1))).astype(np.uint32)
    for offset in range(1, width):
        codes <<= np.uint32(6)
        codes |= units[places + offset] & np.uint8(0x3F)
    return codes


def _write_code_points(
    units: Bytes, places: NDArray[np.int64], codes: NDArray[np.uint32], wanted: NDArray[np.int64], width: int
) -> bool:
    """Writes code points of at most `width` bytes; what is left of the bytes is marked. Returns whether any is."""
    for count in range(1, width + 1):
        (chosen,) = np.nonzero(wanted == count)
        at, rest = places[chosen], codes[chosen]
        for offset in range(count - 1, 0, -1):
            units[at + offset] = 0x80 | (rest & 0x3F)
            rest >>= np.uint32(6)
        units[at] = rest if count == 1 else rest | (0xF00 >> count & 0xFF)
        for offset in range(count, width):
            units[at + offset] = _GONE
    return bool(np.any(wanted < width))


@cache
def _ascii_fold_table() -> bytes:
    """ASCII in lower case or as spaces; all other bytes stay."""
    return lower_case_table()[:0x80].astype(np.uint8).tobytes() + bytes(range(0x80, 0x100))
