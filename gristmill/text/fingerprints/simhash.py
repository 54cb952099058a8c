"""SimHash: a fingerprint of 64 bits that differs in few bits for similar texts."""

import numpy as np

from gristmill.text.characters.stretches import split_into_stretches
from gristmill.text.code_points import Hashes, mix_hash_bits

SHINGLE = 8
"""Code points of a shingle."""

_TOGETHER = 1 << 16  # shingles whose bits are counted together
_BITS = 64
# Powers of an odd constant: the fractional part of the golden ratio.
_POWERS = [np.uint64(pow(0x9E3779B97F4A7C15, power, 1 << 64)) for power in range(1, SHINGLE + 1)]


def simhash(text: str) -> int:
    """The SimHash of a text, of 64 bits: texts that share most of their shingles differ in few bits.

    A shingle is 8 code points in a row, in lower case, with one space for each run of white space. Each is hashed to 64
    bits. A bit of the result is 1 if more than half of the shingles have it. So it works for every script. A text of
    fewer than 8 code points has one shingle, itself. A huge text is read in stretches of 2^20 code points; shingles
    that two of them share are not counted.

    Source: Charikar 2002, "Similarity Estimation Techniques from Rounding Algorithms".

    Args:
        text: any text.

    Returns:
        A number below 2^64; 0 for a text of nothing but white space.

    >>> one = simhash("the mill grinds the grain of the valley")
    >>> other = simhash("The mill grinds the grain of a valley.")
    >>> distance(one, other) < distance(one, simhash("an entirely different sentence about nothing at all"))
    True
    """
    counts = np.zeros(_BITS, np.int64)
    shingles = 0
    for stretch in split_into_stretches(text):
        hashes = _shingle_hashes(" ".join(stretch.lower().split()))
        shingles += len(hashes)
        for first in range(0, len(hashes), _TOGETHER):
            part = hashes[first : first + _TOGETHER].astype("<u8").view(np.uint8).reshape(-1, 8)
            counts += np.unpackbits(part, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return int(np.packbits(2 * counts > shingles, bitorder="little").view("<u8")[0])


def _shingle_hashes(text: str) -> Hashes:
    """A hash of each shingle. It depends on its code points alone, not on how the text is stored."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    if not len(points):
        return points
    points = np.pad(points, (0, max(SHINGLE - len(points), 0)))
    hashes = np.zeros(len(points) - SHINGLE + 1, np.uint64)
    for place, power in enumerate(_POWERS):
        hashes += points[place : place + len(hashes)] * power
    return mix_hash_bits(hashes)


def distance(one: int, other: int) -> int:
    """The number of bits that differ between two fingerprints.

    Args:
        one: a fingerprint, such as `simhash` gives.
        other: another of the same kind.

    >>> distance(0b1100, 0b1010)
    2
    """
    return (one ^ other).bit_count()
