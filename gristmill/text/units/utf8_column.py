"""Utf8Column: texts joined into one sequence of UTF-8 bytes; it turns byte offsets into code point offsets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import Numbers

Flags8 = NDArray[np.uint8]
"""A 1 or a 0 for each byte of a column."""

_SPACES = bytes(int(chr(code).isspace() and code < 0x80) for code in range(256))
_LEADS = bytes(int(code in {0xC2, 0xE1, 0xE2, 0xE3}) for code in range(256))
"""The first bytes of the white space beyond ASCII."""
_WIDE_SPACES = frozenset((0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000))


class BitCounts:
    """Counts the set flags before a place. It keeps one bit for each flag, and a running sum for every eight flags.

    Args:
        flags: flags, 0 or 1 in one byte each (n).

    >>> BitCounts(np.array([1, 0, 1, 1], np.uint8)).before(np.array([0, 1, 3, 4])).tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, flags: Flags8 | NDArray[np.bool_]) -> None:
        bits = np.packbits(flags)
        self._bits = np.append(bits, np.uint8(0))
        self._sums = np.zeros(len(bits) + 1, np.int64)
        np.cumsum(np.bitwise_count(bits), out=self._sums[1:])

    def before(self, places: Numbers) -> Numbers:
        """The number of set flags before each place (shape of `places`)."""
        eights = places >> 3
        kept = self._bits.take(eights) >> (8 - (places & 7)).astype(np.uint8)  # a shift by 8 leaves no bit
        counts: Numbers = self._sums.take(eights) + np.bitwise_count(kept)
        return counts


@dataclass(frozen=True)
class Utf8Column:
    """T texts in UTF-8, each followed by a separator. A lone surrogate has three bytes (`surrogatepass`).

    Args:
        data: the bytes.
        bounds: text t begins at `bounds[t]`, and the separator after it ends at `bounds[t + 1]`, in bytes (T + 1).

    >>> column = Utf8Column.of(["Mühle", "to"])
    >>> column.bounds.tolist(), column.code_points(np.array([0, 6, 7, 9])).tolist()
    ([0, 7, 10], [0, 5, 6, 8])
    """

    data: bytes
    bounds: Numbers

    @classmethod
    def of(cls, texts: Sequence[str], separator: str = "\n") -> "Utf8Column":
        """The column of some texts.

        Args:
            texts: any texts.
            separator: text after each text in the column.
        """
        encoded = [encoded_text(text) for text in texts]
        mark = encoded_text(separator)
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(texts)) + len(mark), out=bounds[1:])
        encoded.append(b"")
        return cls(mark.join(encoded), bounds)

    @cached_property
    def bytes(self) -> Flags8:
        """The bytes as an array (n)."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def ascii(self) -> bool:
        """Whether all bytes are ASCII, so that each byte is one code point."""
        return self.data.isascii()

    @cached_property
    def _continuation_byte_counts(self) -> BitCounts:
        """The counts of continuation bytes: all bytes of a code point but its first."""
        return BitCounts((self.bytes & np.uint8(0xC0)) == np.uint8(0x80))

    def code_points(self, places: Numbers) -> Numbers:
        """The number of code points of the column before each place (shape of `places`)."""
        return places if self.ascii else places - self._continuation_byte_counts.before(places)

    @cached_property
    def is_space(self) -> Flags8:
        """Whether each byte is part of a character for which `str.isspace` is true."""
        flags = np.frombuffer(self.data.translate(_SPACES), np.uint8)
        if self.ascii:
            return flags
        flags = flags.copy()
        data = self.bytes
        (leads,) = np.nonzero(np.frombuffer(self.data.translate(_LEADS), np.uint8))
        second = data.take(leads + 1)
        short = leads[(data.take(leads) == 0xC2) & ((second == 0x85) | (second == 0xA0))]
        leads = leads[data.take(leads) != 0xC2]
        codes = (data.take(leads) & np.int64(0xF)) << 12
        codes |= (data.take(leads + 1) & np.int64(0x3F)) << 6
        codes |= data.take(leads + 2) & np.int64(0x3F)
        wide = leads[np.isin(codes, tuple(_WIDE_SPACES))]
        for places, count in ((short, 2), (wide, 3)):
            for offset in range(count):
                flags[places + offset] = 1
        return flags

    @cached_property
    def non_space_counts(self) -> BitCounts:
        """The counts of the bytes that are not white space."""
        return BitCounts(self.is_space == 0)


def encoded_text(text: str) -> bytes:
    """A text in UTF-8; a lone surrogate has three bytes, as any code point of its size.

    >>> encoded_text(chr(0xD800)).hex()
    'eda080'
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """The text from which `encoded_text` made these bytes."""
    return data.decode("utf-8", "surrogatepass")
