"""CodePoints: a batch of texts as one column of code points, with the kind of each code point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.shared import make_arrays_read_only, shared
from gristmill.text.unicode.assigned import assigned

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

SPACE, LETTER, SYMBOL, BREAK = 1, 2, 4, 8
"""Bits of `kinds`: white space of `str.split`, letter of `str.isalpha`, Gopher's symbols `#` and `…`, line feed."""

ELLIPSIS = 0x2026

_ASTRAL = 0x10000  # the first code point that needs more than 16 bits
_PAD = 8  # bytes that the chunk of the last word reads past the end
_TEXTS = 4096  # most texts of a column: tables of texts by word length stay small

# Odd constants of 64 bits: the fractional part of the golden ratio, and those of MurmurHash3's finalizer.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(33)


def mix_hash_bits(values: Hashes) -> Hashes:
    """MurmurHash3's 64-bit finalizer: a bijection in which every input bit affects every output bit.

    Args:
        values: shape (n,); not changed.

    Returns:
        Shape (n,).

    Source: A. Appleby, MurmurHash3 (`fmix64`), public domain.

    >>> [hex(value) for value in mix_hash_bits(np.array([0, 1], np.uint64)).tolist()]
    ['0x0', '0xb456bcfc34c2cb2c']
    """
    values = values ^ (values >> _HALF)
    values *= _FIRST
    values ^= values >> _HALF
    values *= _SECOND
    values ^= values >> _HALF
    return values


@dataclass(frozen=True)
class CodePoints:
    """T texts, each followed by a line feed: the lines of the column are exactly the lines of its texts.

    Args:
        units: U code points; `uint8`, `uint16` or `uint32`, as the largest needs (U).
        bounds: text t is `units[bounds[t]:bounds[t + 1] - 1]` (T + 1).
        kinds: bits `SPACE`, `LETTER`, `SYMBOL` and `BREAK` that apply to each code point (U).
        chunks: a view; for each byte of `units` the eight bytes that begin there, as a little-endian number.

    >>> column = CodePoints.of(["to be", "#1"])
    >>> column.bounds.tolist(), column.lengths.tolist()
    ([0, 6, 9], [5, 2])
    >>> [int(((column.kinds & kind) != 0).sum()) for kind in (SPACE, LETTER, SYMBOL, BREAK)]
    [3, 4, 1, 2]
    """

    units: NDArray[Any]
    bounds: Numbers
    kinds: NDArray[np.uint8]
    chunks: Hashes

    def __post_init__(self) -> None:
        make_arrays_read_only(self)

    @classmethod
    def of(cls, texts: Sequence[str], *, wide: bool = False) -> "CodePoints":
        """The column of one text or more. Lone surrogates are allowed.

        Args:
            texts: any texts.
            wide: whether each unit has 32 bits, even if all texts could do with less: hashes of such columns can be
                compared with each other.
        """
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1, out=bounds[1:])
        return cls.joined("\n".join(texts) + "\n", bounds, wide=wide)

    @classmethod
    def joined(cls, joined: str, bounds: Numbers, *, wide: bool = False) -> "CodePoints":
        """The column of texts that are joined already.

        Args:
            joined: the texts, each followed by a line feed.
            bounds: offsets like those of the column (T + 1).
            wide: whether the units have four bytes, as in `of`.
        """
        if joined.isascii() and not wide:
            raw = joined.encode("ascii")
            units: NDArray[Any] = np.frombuffer(raw, np.uint8)
            kinds = np.frombuffer(raw.translate(_code_point_kinds()[:256].tobytes()), np.uint8)
        else:
            units = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
            kinds = _code_point_kinds().take(units)
            if not wide and int(units.max()) < _ASTRAL:
                units = units.astype("<u2")
            raw = units.tobytes()
        chunks: Hashes = np.ndarray((len(raw),), "<u8", buffer=raw + bytes(_PAD), strides=(1,))
        return cls(units, bounds, kinds, chunks)

    @shared
    def lengths(self) -> Numbers:
        """The number of code points of each text (T)."""
        return np.diff(self.bounds) - 1

    def hashes(self, starts: Numbers, ends: Numbers) -> Hashes:
        """A 64-bit hash of each stretch `units[start:end]`: equal stretches of this column have equal hashes.

        Two different stretches have the same hash with probability 2^-64. Do not compare hashes of two columns:
        they depend on the width of the units.

        Args:
            starts: shape (n,).
            ends: shape (n,).

        Returns:
            Shape (n,).
        """
        room = _PAD // self.units.itemsize
        lengths = ends - starts
        hashes = mix_hash_bits(self._eight_byte_chunks(starts, lengths) + lengths.astype(np.uint64) * _GOLDEN)
        (longer,) = np.nonzero(lengths > room)
        if longer.size:
            hashes[longer] ^= self._stretch_chunk_sums(starts[longer] + room, ends[longer], room)
        return hashes

    def _stretch_chunk_sums(self, starts: Numbers, ends: Numbers, room: int) -> Hashes:
        """For stretches of one code point or more: the sum of the mixed chunks, each combined with its number."""
        counts = -((starts - ends) // room)
        firsts = np.cumsum(counts) - counts
        numbers = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
        at = numbers * room
        at += np.repeat(starts, counts)
        values = self._eight_byte_chunks(at, np.repeat(ends, counts) - at)
        values += (numbers + 1).astype(np.uint64) * _FIRST
        sums: Hashes = np.add.reduceat(mix_hash_bits(values), firsts)
        return sums

    def _eight_byte_chunks(self, at: Numbers, lengths: Numbers) -> Hashes:
        """The eight bytes that begin at each code point; bytes past the length of its stretch are 0."""
        width = self.units.itemsize
        chunks = self.chunks[at * width if width > 1 else at]
        chunks &= _chunk_masks(width).take(np.minimum(lengths, _PAD // width))
        return chunks


def columns(texts: Sequence[str], limit: int) -> Iterator[tuple[list[int], CodePoints]]:
    """Divides texts into columns of about `limit` code points.

    A text is never cut: one longer than `limit` has a column for itself. ASCII texts have columns of their own, which
    take one byte per code point.

    Args:
        texts: any texts, in any order.
        limit: code points of a column.

    Yields:
        The indices of the column's texts in `texts`, and the column.

    >>> [(indices, column.units.dtype.name) for indices, column in columns(["one", "zwölf", "two"], 100)]
    [([0, 2], 'uint8'), ([1], 'uint16')]
    """
    waiting: dict[bool, list[int]] = {True: [], False: []}
    sizes = {True: 0, False: 0}
    for index, text in enumerate(texts):
        ascii_only = text.isascii()
        if waiting[ascii_only] and sizes[ascii_only] + len(text) > limit:
            yield _encode_waiting_texts(texts, waiting, sizes, ascii_only=ascii_only)
        waiting[ascii_only].append(index)
        sizes[ascii_only] += len(text) + 1
        if len(waiting[ascii_only]) == _TEXTS:
            yield _encode_waiting_texts(texts, waiting, sizes, ascii_only=ascii_only)
    for ascii_only, indices in waiting.items():
        if indices:
            yield _encode_waiting_texts(texts, waiting, sizes, ascii_only=ascii_only)


def _encode_waiting_texts(
    texts: Sequence[str], waiting: dict[bool, list[int]], sizes: dict[bool, int], *, ascii_only: bool
) -> tuple[list[int], CodePoints]:
    indices, waiting[ascii_only], sizes[ascii_only] = waiting[ascii_only], [], 0
    return indices, CodePoints.of([texts[index] for index in indices])


@cache
def _chunk_masks(width: int) -> Hashes:
    """Masks for units of `width` bytes: mask n keeps the first n code points of a chunk."""
    return np.array([(1 << (8 * width * count)) - 1 for count in range(_PAD // width + 1)], np.uint64)


@cache
def _code_point_kinds() -> NDArray[np.uint8]:
    """The kind of every code point, by the tables of Unicode 14.0 (1.1 MB, computed once in 20 ms)."""
    characters = np.arange(0x110000, dtype=np.uint32).view("U1")
    kinds = np.strings.isspace(characters) * np.uint8(SPACE) | np.strings.isalpha(characters) * np.uint8(LETTER)
    kinds *= assigned()
    kinds[[ord("#"), ELLIPSIS]] |= SYMBOL
    kinds[ord("\n")] |= BREAK
    return kinds
