"""The numbers that fingerprints are stored as in attribute sets."""

from collections.abc import Sequence

BYTES = 6
"""Bytes of a fingerprint that are stored as one number. Every whole number below 2^53 is exact as a score."""


def fingerprint_as_numbers(fingerprint: bytes) -> list[int]:
    """The numbers below 2^48 that a fingerprint is stored as: six bytes each, the last may have fewer.

    >>> fingerprint_as_numbers(bytes.fromhex("0000000000ff01"))
    [255, 1]
    """
    return [int.from_bytes(fingerprint[at : at + BYTES]) for at in range(0, len(fingerprint), BYTES)]


def fingerprint_from_numbers(numbers: Sequence[float], size: int) -> bytes:
    """The fingerprint whose numbers are given. It reverses `fingerprint_as_numbers`.

    Args:
        numbers: numbers of the fingerprint as an attribute set has them: whole numbers.
        size: bytes of the fingerprint: 8 for SimHash, 35 for TLSH.

    >>> fingerprint_from_numbers([255.0, 1.0], 7).hex()
    '0000000000ff01'
    """
    sizes = [min(BYTES, size - at) for at in range(0, size, BYTES)]
    return b"".join(int(number).to_bytes(width) for number, width in zip(numbers, sizes, strict=True))
