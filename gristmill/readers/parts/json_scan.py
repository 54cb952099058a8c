"""Finds where the values of a JSON file begin and end, as a stream, without making them.

Only brackets and strings are looked at, so neither a long number nor deep nesting costs memory. What a value holds is
the decoder's matter. Source: RFC 8259.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.lake.rows.row_blocks import HEAD

DEEPEST = 500
"""Most levels of brackets in a value. Decoders and encoders go through values by recursion."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb'[^ \t\r\n,:"\[\]{}]*+')
_UP_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+', re.DOTALL)
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BOM = b"\xef\xbb\xbf"
_QUOTE, _OPENING = ord('"'), frozenset(b"[{")
_SCALARS = frozenset(b"-0123456789tfn")


class NotJson(Exception):  # noqa: N818 - the tree reads as English
    """The file is not valid JSON."""


class ScannedValue(NamedTuple):
    """One value of a file.

    Attributes:
        start: its first byte in the unpacked file.
        end: the byte after its last one.
        data: its bytes; the first ones if it is too long.
        deep: whether its brackets are nested too deeply.
    """

    start: int
    end: int
    data: bytes
    deep: bool

    @property
    def size(self) -> int:
        """All its bytes."""
        return self.end - self.start


class JsonScan:
    r"""A position in a JSON file. At most one value and one piece are held.

    Args:
        pieces: plain bytes, cut anywhere.
        limit: longest value in bytes. Of a longer one, only the first bytes are kept.

    >>> scan = JsonScan(iter([b'{"a": "]', b'\\""} [', b"7]"]), limit=100)
    >>> scan.value().data, scan.value().data, scan.next_byte()
    (b'{"a": "]\\""}', b'[7]', -1)
    """

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self._pieces, self._limit = pieces, limit
        self._held = bytearray()
        self._at = self._before = 0  # position in what is held; bytes in front of that
        self._start = -1  # of the value that is read, in what is held
        self._head = b""  # what was dropped of a value that is too long
        while len(self._held) < len(_BOM) and self._hold_next_piece():
            pass
        if self._held.startswith(_BOM):
            self._at = len(_BOM)

    @property
    def offset(self) -> int:
        """The position in the file."""
        return self._before + self._at

    def next_byte(self) -> int:
        """The next byte that is no space, which is not passed; -1 at the end."""
        while True:
            self._pass_pattern(_SPACE)
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._hold_next_piece():
                return -1

    def pass_byte_if_next(self, byte: bytes) -> bool:
        """Passes the next byte that is no space if it is this one. Returns whether it is."""
        if self.next_byte() != byte[0]:
            return False
        self._at += 1
        return True

    def value(self) -> ScannedValue:
        """Passes the next value.

        Returns:
            The value's bytes and its place.

        Raises:
            NotJson: no value follows, or the file ends within it, or brackets do not fit together.
        """
        first = self.next_byte()
        self._start, self._head, deep = self._at, b"", False
        start = self.offset
        if first in _OPENING:
            deep = self._pass_container()
        elif first == _QUOTE:
            self._pass_string()
        elif first in _SCALARS:
            self._pass_scalar()
        else:
            raise NotJson(f"there is no value at byte {start}" if first >= 0 else "the file ends before a value")
        size = self.offset - start
        data = self._kept_value_bytes(size if size <= self._limit else HEAD)
        self._start = -1
        return ScannedValue(start, start + size, data, deep)

    def _pass_pattern(self, pattern: re.Pattern[bytes]) -> None:
        found = pattern.match(self._held, self._at)
        self._at = found.end() if found else self._at

    def _hold_next_piece(self) -> bool:
        """Holds the next piece, and drops what is not needed; False at the end of the file."""
        if self._start >= 0 and self._at - self._start > self._limit:
            self._head = self._kept_value_bytes(HEAD)
            self._start = self._at
        done = self._start if self._start >= 0 else self._at
        if done:
            del self._held[:done]
            self._before += done
            self._at -= done
            self._start -= done if self._start >= 0 else 0
        piece = next(self._pieces, None)
        self._held += piece or b""
        return piece is not None

    def _kept_value_bytes(self, most: int) -> bytes:
        """The first bytes of the value so far."""
        end = min(self._at, self._start + most - len(self._head))
        return self._head + bytes(memoryview(self._held)[self._start : end])

    def _need_more(self) -> None:
        if not self._hold_next_piece():
            raise NotJson("the file ends within a value")

    def _pass_scalar(self) -> None:
        self._pass_pattern(_SCALAR)
        while self._at == len(self._held) and self._hold_next_piece():
            self._pass_pattern(_SCALAR)

    def _pass_string(self) -> None:
        self._at += 1
        while True:
            self._pass_pattern(_IN_STRING)
            if self._at < len(self._held) and self._held[self._at] == _QUOTE:
                self._at += 1
                return
            self._need_more()

    def _pass_container(self) -> bool:
        """Passes an object or an array; says whether its nesting is too deep."""
        closing = bytearray()
        depth, deep = 0, False
        while True:
            self._pass_pattern(_UP_TO_BRACKET)
            if self._at == len(self._held):
                self._need_more()
                continue
            byte = self._held[self._at]
            if byte == _QUOTE:  # a string that is not complete yet
                self._pass_string()
                continue
            self._at += 1
            if byte in _OPENING:
                depth += 1
                if depth <= DEEPEST:
                    closing.append(byte + 2)
                else:
                    deep = True
                continue
            if depth <= DEEPEST and closing.pop() != byte:
                raise NotJson(f"a bracket at byte {self.offset - 1} closes another one")
            depth -= 1
            if not depth:
                return deep
