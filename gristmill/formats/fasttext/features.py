"""Features: which rows of a model's input matrix the words of texts and their n-grams are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Words32 = NDArray[np.uint32]
Rows = NDArray[np.uint16]

MISSING = 0xFFFF
"""A number that is no row. All of its bits are 1."""

END = b"</s>"
"""The word that fastText adds to each text. Where it stands in a text, the text ends."""

LABEL = b"__label__"
"""Words that begin so are labels, and are left out."""

# FNV-1a of 32 bits. fastText takes bytes as signed, so those from 128 on set all higher bits.
_BASIS = np.uint32(2166136261)
_PRIME = np.uint32(16777619)
_NOTHING = np.uint32(1)

_LEADS = (0xC0, 0xE0, 0xF0)  # from this first byte on, a character has a second, a third, a fourth
_BREAK = ord("\n")


@dataclass(frozen=True)
class InputRows:
    """The rows of N words or texts.

    Args:
        rows: numbers of rows of the input matrix, in fastText's order: a word, then its n-grams by their first
            character (R).
        bounds: word or text n has `rows[bounds[n]:bounds[n + 1]]` (N + 1).
    """

    rows: Rows
    bounds: Numbers


@dataclass(frozen=True)
class Features:
    """What of texts a model knows.

    Args:
        words: the row of each known word.
        shortest, longest: characters of n-grams, which are those of `<word>`; 2 or more.
        buckets: the row of each hash of an n-gram; MISSING if the model has none for it.

    >>> features = Features({b"mill": 0}, 2, 2, np.array([MISSING], np.uint16))
    >>> rows = features.of([b"a", b"mill"])
    >>> rows.rows.tolist(), rows.bounds.tolist()
    ([0], [0, 0, 1])
    """

    words: Mapping[bytes, int]
    shortest: int
    longest: int
    buckets: Rows

    def of(self, words: Sequence[bytes]) -> InputRows:
        """The rows of words in UTF-8, each without white space and zero bytes."""
        if not words:
            return InputRows(np.zeros(0, np.uint16), np.zeros(1, np.int64))
        joined = b"".join([b"<", b">\n<".join(words), b">\n", b"\n" * self.longest])
        raw = np.frombuffer(joined, np.uint8)
        starts = None if joined.isascii() else np.flatnonzero((raw & 0xC0) != 0x80)  # of characters
        characters = raw if starts is None else raw.take(starts)
        size = len(characters) - self.longest
        breaks = characters == _BREAK
        heads = np.zeros(len(words) + 1, np.int64)
        heads[1:] = np.flatnonzero(breaks[:size]) + 1
        found = np.full((size, 2 + self.longest - self.shortest), MISSING, np.uint16)
        known = map(self.words.get, words, repeat(MISSING))
        found[heads[:-1], 0] = np.fromiter(known, np.uint16, len(words))
        missing = np.where(breaks, np.uint16(MISSING), np.uint16(0))
        across = missing[:size].copy()
        for length, hashes in enumerate(self._hashes(raw, starts, characters, size), 1):
            across |= missing[length - 1 : length - 1 + size]
            if hashes is not None:
                rows = self.buckets.take(hashes)
                rows |= across
                found[:, 1 + length - self.shortest] = rows
        flat = found.ravel()
        (at,) = np.nonzero(flat != MISSING)
        return InputRows(flat.take(at), np.searchsorted(at, heads * found.shape[1]))

    def _hashes(
        self, raw: NDArray[np.uint8], starts: Numbers | None, characters: NDArray[np.uint8], size: int
    ) -> Iterator[Words32 | None]:
        """For n = 1 to `longest` the bucket of the n characters from each character on; None below `shortest`."""
        steps = _steps(raw, starts, characters)
        modulus = np.uint32(len(self.buckets))
        hashes = np.full(size, _BASIS)
        buckets = np.empty(size, np.uint32)
        for place in range(self.longest):
            for signed, primes in steps:
                hashes ^= signed[place : place + size]
                hashes *= _PRIME if primes is None else primes[place : place + size]
            if place + 1 < self.shortest:
                yield None
                continue
            np.floor_divide(hashes, modulus, out=buckets)  # numpy divides fast, but its remainder is slow
            buckets *= modulus
            np.subtract(hashes, buckets, out=buckets)
            yield buckets


def words_of(text: bytes) -> list[bytes]:
    """The words of a text; bytes are white space as in fastText, which is ASCII's."""
    words = text.split()
    if END in text and END in words:
        del words[words.index(END) :]
    if LABEL in text:
        words = [word for word in words if not word.startswith(LABEL)]
    return words


def _steps(
    raw: NDArray[np.uint8], starts: Numbers | None, characters: NDArray[np.uint8]
) -> list[tuple[Words32, Words32 | None]]:
    """For each byte that a character may have: that byte, signed, and the prime to multiply by.

    A character without this byte has a 0 and a 1, which change no hash.
    """
    signed = raw.view(np.int8).astype(np.int32).view(np.uint32)
    if starts is None:
        return [(signed, None)]
    steps: list[tuple[Words32, Words32 | None]] = [(signed.take(starts), None)]
    largest = int(raw.max())
    for further, lead in enumerate(_LEADS, 1):
        if largest >= lead:
            has = characters >= lead
            own = signed.take(np.minimum(starts + further, len(raw) - 1))
            own *= has
            steps.append((own, np.where(has, _PRIME, _NOTHING)))
    return steps
