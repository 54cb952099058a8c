"""CodePoints: a batch of texts as one column of code points, with what each of them is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

SPACE, LETTER, SYMBOL, BREAK = 1, 2, 4, 8
"""Bits of `kinds`: what `str.split` cuts at, `str.isalpha`, Gopher's `#` and `…`, and the line feed."""

ELLIPSIS = 0x2026

_ASTRAL = 0x10000  # the first code point that needs more than 16 bits
_PAD = 8  # bytes read past the end by the last word's chunk
_TEXTS = 4096  # texts in one column at most: tables of texts by word length stay small

# Odd constants of 64 bits: the fractional part of the golden ratio, and those of MurmurHash3's finalizer.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(33)


def mixed(values: Hashes) -> Hashes:
    """MurmurHash3's 64-bit finalizer (Appleby, public domain): a bijection that spreads every bit."""
    values = values ^ (values >> _HALF)
    values *= _FIRST
    values ^= values >> _HALF
    values *= _SECOND
    values ^= values >> _HALF
    return values


@dataclass(frozen=True)
class CodePoints:
    """Texts joined by line feeds, so that the lines of the whole are the lines of its texts.

    Args:
        units: the code points, `uint8`, `uint16` or `uint32` by the largest; a line feed after every text.
        bounds: where each text starts, and where one more would: `units[bounds[t]:bounds[t + 1] - 1]`.
        kinds: what each code point is: `SPACE`, `LETTER`, `SYMBOL` and `BREAK`, or-ed (`uint8`).
        chunks: the eight bytes from each byte of `units` on, as one little-endian number (a view).
    """

    units: NDArray[Any]
    bounds: Numbers
    kinds: NDArray[np.uint8]
    chunks: Hashes

    @classmethod
    def of(cls, texts: Sequence[str]) -> "CodePoints":
        """The column of at least one text; lone surrogates are code points like others."""
        joined = "\n".join(texts) + "\n"
        if joined.isascii():
            raw = joined.encode("ascii")
            units: NDArray[Any] = np.frombuffer(raw, np.uint8)
            kinds = np.frombuffer(raw.translate(_kinds()[:256].tobytes()), np.uint8)
        else:
            units = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
            kinds = _kinds().take(units)
            if int(units.max()) < _ASTRAL:
                units = units.astype("<u2")
            raw = units.tobytes()
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) + 1 for text in texts], out=bounds[1:])
        chunks: Hashes = np.ndarray((len(raw),), "<u8", buffer=raw + bytes(_PAD), strides=(1,))
        return cls(units, bounds, kinds, chunks)

    @cached_property
    def lengths(self) -> Numbers:
        """How many code points each text has."""
        return np.diff(self.bounds) - 1

    def hashes(self, starts: Numbers, ends: Numbers) -> Hashes:
        """A 64-bit hash of each `units[start:end]`: equal for equal stretches of this column.

        Two different stretches of it collide with a chance of 2^-64. Hashes of columns whose units have
        different widths cannot be compared.
        """
        room = _PAD // self.units.itemsize
        lengths = ends - starts
        hashes = mixed(self._chunks(starts, lengths) + lengths.astype(np.uint64) * _GOLDEN)
        (longer,) = np.nonzero(lengths > room)
        if longer.size:
            hashes[longer] ^= self._tails(starts[longer] + room, ends[longer], room)
        return hashes

    def _tails(self, starts: Numbers, ends: Numbers, room: int) -> Hashes:
        """For stretches of one code point or more: the sum of what each chunk mixes to at its place."""
        counts = -((starts - ends) // room)
        firsts = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
        at = places * room
        at += np.repeat(starts, counts)
        values = self._chunks(at, np.repeat(ends, counts) - at)
        values += (places + 1).astype(np.uint64) * _FIRST
        sums: Hashes = np.add.reduceat(mixed(values), firsts)
        return sums

    def _chunks(self, at: Numbers, lengths: Numbers) -> Hashes:
        """The first eight bytes from each code point on, without what lies past its stretch's length."""
        width = self.units.itemsize
        chunks = self.chunks[at * width if width > 1 else at]
        chunks &= _masks(width).take(np.minimum(lengths, _PAD // width))
        return chunks


def columns(texts: Sequence[str], limit: int) -> Iterator[tuple[list[int], CodePoints]]:
    """The texts in columns of about `limit` code points, each with its texts' places in `texts`.

    A text is never cut: a longer one is a column by itself. ASCII has columns of its own, one byte a code point.
    """
    waiting: dict[bool, list[int]] = {True: [], False: []}
    sizes = {True: 0, False: 0}
    for place, text in enumerate(texts):
        ascii_only = text.isascii()
        if waiting[ascii_only] and sizes[ascii_only] + len(text) > limit:
            yield _column(texts, waiting, sizes, ascii_only=ascii_only)
        waiting[ascii_only].append(place)
        sizes[ascii_only] += len(text) + 1
        if len(waiting[ascii_only]) == _TEXTS:
            yield _column(texts, waiting, sizes, ascii_only=ascii_only)
    for ascii_only, places in waiting.items():
        if places:
            yield _column(texts, waiting, sizes, ascii_only=ascii_only)


def _column(
    texts: Sequence[str], waiting: dict[bool, list[int]], sizes: dict[bool, int], *, ascii_only: bool
) -> tuple[list[int], CodePoints]:
    places, waiting[ascii_only], sizes[ascii_only] = waiting[ascii_only], [], 0
    return places, CodePoints.of([texts[place] for place in places])


@cache
def _masks(width: int) -> Hashes:
    """By a count of code points of this width: the mask that keeps so many of a chunk."""
    return np.array([(1 << (8 * width * count)) - 1 for count in range(_PAD // width + 1)], np.uint64)


@cache
def _kinds() -> NDArray[np.uint8]:
    """What every code point is, as this Python's Unicode tables say (1.1 MB, made once in 20 ms)."""
    every = np.arange(0x110000, dtype=np.uint32).view("U1")
    kinds = np.strings.isspace(every) * np.uint8(SPACE) | np.strings.isalpha(every) * np.uint8(LETTER)
    kinds[[ord("#"), ELLIPSIS]] |= SYMBOL
    kinds[ord("\n")] |= BREAK
    return kinds
