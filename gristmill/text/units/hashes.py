"""128-bit hashes: of texts, of many words at once, and of sequences of words."""

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
import xxhash

from gristmill.text.code_points import Hashes, Numbers, mix_hash_bits

_CHUNK = 8

# Odd constants: the fractional part of the golden ratio, and those of XXH64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
_NEXT_HIGH = np.uint64(0x9E3779B185EBCA87)
_NEXT_LOW = np.uint64(0x165667B19E3779FB)  # four times a number, plus three: swapped words lose one bit
_HALF = np.uint64(32)


class Hashes128(NamedTuple):
    """128-bit hashes.

    Attributes:
        high: their upper 64 bits (n).
        low: their lower 64 bits (n).
    """

    high: Hashes
    low: Hashes

    def take(self, places: Numbers) -> "Hashes128":
        """The hashes at these places (n)."""
        return Hashes128(self.high.take(places), self.low.take(places))


def hash_pieces(pieces: Iterable[bytes]) -> Hashes128:
    """The XXH3-128 of each piece.

    >>> [f"{int(high):016x}{int(low):016x}" for high, low in zip(*hash_pieces([b"mill"]), strict=True)]
    ['aab1b7412232641b4f34ce9ec3c97224']
    """
    return _split_hash_halves(b"".join(map(xxhash.xxh3_128_digest, pieces)))


def sha256_digests(pieces: Iterable[bytes]) -> Hashes128:
    """The first 128 bits of the SHA-256 of each piece.

    >>> [f"{int(high):016x}{int(low):016x}" for high, low in zip(*sha256_digests([b"abc"]), strict=True)]
    ['ba7816bf8f01cfea414140de5dae2223']
    """
    return _split_hash_halves(b"".join(hashlib.sha256(piece).digest()[:16] for piece in pieces))


Digests = Callable[[Iterable[bytes]], Hashes128]
"""Computes a hash of each piece: `hash_pieces` or `sha256_digests`."""


def _split_hash_halves(data: bytes) -> Hashes128:
    pairs = np.frombuffer(data, ">u8").astype(np.uint64).reshape(-1, 2)
    return Hashes128(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))


def word_hashes(data: bytes, starts: Numbers, ends: Numbers) -> Hashes128:
    """A hash of each word `data[start:end]`. It depends on these bytes alone.

    A word of up to 16 bytes is two numbers p and q of 64 bits, the first bytes the lowest, filled with zeros. With n
    bytes, `a = mixed(p + n * GOLDEN)`, `b = mixed(q ^ a)`, `high = a + b * ODD` and `low = mixed(b ^ high)`. So two
    such words of one length never have the same hash. A longer word has its XXH3-128.

    Args:
        data: any bytes.
        starts: offset where each word begins, in bytes (n).
        ends: offset where each word ends, in bytes (n).

    >>> found = word_hashes(b"to be or to", np.array([0, 3, 9]), np.array([2, 5, 11]))
    >>> [bool(found.low[0] == each) for each in found.low[1:]]
    [False, True]
    """
    chunks: Hashes = np.ndarray((len(data) + 1,), "<u8", buffer=data + bytes(_CHUNK), strides=(1,))
    lengths = ends - starts
    values = chunks[starts]  # `take` would first copy all chunks, which overlap
    values &= _chunk_masks().take(lengths, mode="clip")
    values += lengths.astype(np.uint64) * _GOLDEN
    a = mix_hash_bits(values)
    b = a.copy()
    (more,) = np.nonzero(lengths > _CHUNK)
    b[more] ^= chunks[np.minimum(starts[more] + _CHUNK, len(data))] & _chunk_masks().take(
        lengths[more] - _CHUNK, mode="clip"
    )
    b = mix_hash_bits(b)
    a += b * _ODD
    b ^= a
    found = Hashes128(a, mix_hash_bits(b))
    longer = more[lengths[more] > 2 * _CHUNK]
    if longer.size:
        bounds = zip(starts[longer].tolist(), ends[longer].tolist(), strict=True)
        found.high[longer], found.low[longer] = hash_pieces([data[start:end] for start, end in bounds])
    return found


@cache
def _chunk_masks() -> Hashes:
    """Masks for the last bytes of a word: mask n keeps the first n bytes of a chunk."""
    return np.array([(1 << (8 * count)) - 1 for count in range(_CHUNK + 1)], np.uint64)


def hash_word_sequences(words: Hashes128, starts: Numbers, counts: Numbers) -> Hashes128:
    """A hash of each sequence of words, from the hashes of its words.

    Each half of the hash is computed alone. A sequence of 2**k words is combined from its two halves p and q:
    `x = p * NEXT + q; x ^= x >> 32`. Any other sequence is divided into sequences of 2**k words, the longest first, and
    these are combined from the last to the first.

    Args:
        words: the hashes of all words, in order (w).
        starts: the number of the first word of each sequence (n).
        counts: words of each sequence, 1 or more (n); all are within `words`.

    >>> words = word_hashes(b"to be or to be", np.array([0, 3, 6, 9, 12]), np.array([2, 5, 8, 11, 14]))
    >>> found = hash_word_sequences(words, np.array([0, 3, 1]), np.array([2, 2, 2]))
    >>> bool(found.low[0] == found.low[1]), bool(found.low[0] == found.low[2])
    (True, False)
    """
    return Hashes128(
        _combine_sequence_hashes(words.high, starts, counts, _NEXT_HIGH),
        _combine_sequence_hashes(words.low, starts, counts, _NEXT_LOW),
    )


def _combine_sequence_hashes(words: Hashes, starts: Numbers, counts: Numbers, factor: np.uint64) -> Hashes:
    found = np.zeros(len(starts), np.uint64)
    if not len(starts):
        return found
    begun = np.zeros(len(starts), np.bool_)
    ends = starts + counts  # the words from here on are in the hash
    level, size = words, 1
    alike = bool((counts == counts[0]).all())
    while True:
        if alike:
            chosen: Numbers | slice = slice(None) if int(counts[0]) & size else slice(0)
        else:
            chosen = np.flatnonzero(counts & size)
        at = ends[chosen] - size
        if len(at):
            part = level.take(at)
            later = begun[chosen]
            if later.all():
                part = _combine_hashes(part, found[chosen], factor)
            elif later.any():
                part = np.where(later, _combine_hashes(part, found[chosen], factor), part)
            found[chosen], begun[chosen], ends[chosen] = part, True, at
        if 2 * size > int(counts.max()):
            return found
        level = _combine_hashes(level[:-size], level[size:], factor)
        size *= 2


def _combine_hashes(before: Hashes, after: Hashes, factor: np.uint64) -> Hashes:
    joined = before * factor
    joined += after
    joined ^= joined >> _HALF
    return joined
