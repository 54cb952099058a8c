"""The blocks of a bz2 file. Each is unpacked by itself, so that reading can begin at any of them.

A block begins with a number of 48 bits, at any bit, and reaches to the next such number, or to the one that ends a
stream. It is unpacked as a stream of its own, which checks the block's checksum. Once in 10^14 bits such a number is a
block's content by chance; then this block fails its checksum.
"""

import bz2
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import BlockSum, RawPart
from gristmill.lake.rows.unpacking import RAW_MEND

_BLOCK, _END = 0x314159265359, 0x177245385090
_BITS = 48
_CRC = 32
_LONGEST = 2 << 20
"""Bytes from which a block is damaged: 900,000 bytes of text never take as many."""
_STEP = 4 << 20
_HEADER = b"BZh"


class _Mark(NamedTuple):
    """A number that begins a block, or that ends a stream; `bit` counts from the first bit of the object."""

    bit: int
    block: bool


def _shifted_mark_patterns() -> list[tuple[bytes, int, int]]:
    """(the five whole bytes, the shift, the number) of both numbers at each of eight shifts."""
    return [
        ((number << (8 - shift)).to_bytes(7, "big")[1:6], shift, number)
        for number in (_BLOCK, _END)
        for shift in range(8)
    ]


_PATTERNS = _shifted_mark_patterns()


class _BlockFinder:
    """The bytes of an object from which blocks are taken, and the marks in them."""

    def __init__(self, pieces: Iterator[bytes], at: int) -> None:
        self._pieces = pieces
        self.at, self.held = at, b""
        self._marks: list[_Mark] = []
        self._searched = 0
        self._last = -1  # the bit of the last mark that was found
        self.ended = False

    def more(self) -> bool:
        """Reads a piece; False at the end of the object."""
        piece = next(self._pieces, None)
        if piece is None:
            self.ended = True
            return False
        self.held += piece
        self._search_new_marks()
        return True

    def _search_new_marks(self) -> None:
        """Finds the marks that end in the newest bytes. One that lies over their end is found later."""
        low = self._searched
        found: list[_Mark] = []
        for pattern, shift, number in _PATTERNS:
            place = self.held.find(pattern, low + 1)
            while place >= 0:
                seven = self.held[place - 1 : place + 6]
                whole = len(seven) == 7 or shift == 0
                bits = int.from_bytes(seven.ljust(7, b"\0"), "big") >> (8 - shift) & ((1 << _BITS) - 1)
                if whole and bits == number:
                    found.append(_Mark((self.at + place - 1) * 8 + shift, number == _BLOCK))
                place = self.held.find(pattern, place + 1)
        self._marks += sorted(mark for mark in found if mark.bit > self._last)
        self._last = self._marks[-1].bit if self._marks else self._last
        self._searched = max(len(self.held) - 7, 0)

    def mark(self) -> _Mark | None:
        """The next mark, which is taken; None if the object has no more."""
        while not self._marks:
            if len(self.held) > _LONGEST or not self.more():
                return None
        return self._marks.pop(0)

    def drop(self, byte: int) -> None:
        """Forgets the bytes of the object before one."""
        count = max(byte - self.at, 0)
        self.held, self.at = self.held[count:], self.at + count
        self._searched = max(self._searched - count, 0)

    def held_bits(self, start: int, end: int) -> int:
        """The bits [start, end) of the object, which are held."""
        last = -(-end // 8)
        number = int.from_bytes(self.held[start // 8 - self.at : last - self.at], "big") >> (last * 8 - end)
        return number & ((1 << (end - start)) - 1)

    def bytes(self, start: int, count: int) -> bytes:
        """A number of bytes of the object from a place on, or fewer at its end."""
        while len(self.held) < start - self.at + count and self.more():
            pass
        return self.held[start - self.at : start - self.at + count]


class _Sum:
    """The checksum of a stream, block by block.

    Args:
        sums: takes what the checks of all parts together must compare.
        part: of the object.
        path: of the object, for messages.
    """

    def __init__(self, sums: list[BlockSum], part: RawPart, path: str) -> None:
        self._sums, self._part, self._path = sums, part, path
        self._is_whole = not part.start  # whether the stream has been read from its first block on
        self._all, self._own = BlockSum(0, 0), BlockSum(0, 0)
        self._at = -1

    def add(self, block: int, crc: int, stated: int | None) -> None:
        """Takes the next block.

        Args:
            block: its first byte.
            crc: its checksum.
            stated: the checksum of its stream, if it is the last block of it.

        Raises:
            DataError: the stream has another checksum than it states.
        """
        one = BlockSum(1, crc)
        self._all = BlockSum(self._all.blocks + 1, one.combined_with(self._all.crc), stated)
        if self._is_whole and stated not in {None, self._all.crc}:
            raise DataError(
                f"{self._path}: the checksum of the bz2 stream that ends behind byte {block} is wrong, so blocks are"
                f" missing or changed; {RAW_MEND}"
            )
        if block < self._part.end:
            self._note_stream_share(BlockSum(self._own.blocks + 1, one.combined_with(self._own.crc), stated))
        if stated is not None:
            self._is_whole, self._all, self._own, self._at = True, BlockSum(0, 0), BlockSum(0, 0), -1

    def _note_stream_share(self, own: BlockSum) -> None:
        """Notes what the part has of its stream. A stream that is whole in the part is compared already."""
        self._own = own
        if self._at < 0:
            self._at = len(self._sums)
            self._sums.append(own)
        self._sums[self._at] = own
        if own.stated is not None and self._is_whole:
            del self._sums[self._at]


def bz2_units(
    pieces: Iterator[bytes], path: str, part: RawPart, sums: list[BlockSum] | None = None
) -> Iterator[int | bytes]:
    """The blocks from the first one of a part to the end of the object; see readers.parts.units.units().

    Args:
        pieces: the bytes of the object from the part's first one on.
        path: path of the object, for messages.
        part: part of the object.
        sums: list that receives the checksums of the blocks that begin in the part, of streams that are not whole in
            it.

    Raises:
        DataError: a block or a whole stream is damaged, or the object is truncated, or no bz2 file.
    """
    window = _BlockFinder(pieces, part.start)
    total = _Sum([] if sums is None else sums, part, path)
    if not part.start:
        yield 0  # the first part begins with the file, not with its first block
    found = _first_block_in_part(window, part) if part.start else _first_block_of_stream(window, 0, path)
    while found is not None and found.block:
        yield found.bit // 8
        window.drop(found.bit // 8)
        following = window.mark()
        if following is None:
            what = "no block or end of the stream follows: the file was truncated, or is damaged"
            what = what if window.ended else "a block does not end"
            raise DataError(f"{path}: {what}, after byte {found.bit // 8} of the file; {RAW_MEND}")
        stated = None if following.block else _stated_checksum(window, following, path)
        total.add(found.bit // 8, window.held_bits(found.bit + _BITS, found.bit + _BITS + _CRC), stated)
        yield from _unpack_block(window, found.bit, following.bit, path)
        if following.block:
            found = following
        else:
            window.drop(following.bit // 8)
            found = _first_block_of_stream(window, _byte_after_stream(following), path)


def _first_block_in_part(window: _BlockFinder, part: RawPart) -> _Mark | None:
    """The first block that begins in the part; None if no block does."""
    while True:
        found = window.mark()
        if found is None and not window.ended:  # no mark in 2 MiB: this is not bz2; the part before reports it
            window.drop(window.at + len(window.held) - 8)
        elif found is None or found.bit // 8 >= part.end:
            return None
        elif found.block:
            return found


def _unpack_block(window: _BlockFinder, start: int, end: int, path: str) -> Iterator[bytes]:
    """The plain bytes of the block in the bits [start, end)."""
    block = window.held_bits(start, end)
    crc = window.held_bits(start + _BITS, start + _BITS + _CRC)
    count = end - start + _BITS + _CRC
    stream = (((block << _BITS) | _END) << _CRC | crc) << (-count % 8)
    unpack = bz2.BZ2Decompressor()
    data = b"BZh9" + stream.to_bytes(-(-count // 8), "big")
    try:
        while not unpack.eof:
            plain = unpack.decompress(data, _STEP)
            data = b""
            if plain:
                yield plain
            elif unpack.needs_input:
                break
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: the bz2 block at byte {start // 8} is damaged ({error}); {RAW_MEND}") from error
    if not unpack.eof:
        raise DataError(f"{path}: the bz2 block at byte {start // 8} is damaged (it ends too early); {RAW_MEND}")


def _stated_checksum(window: _BlockFinder, end: _Mark, path: str) -> int:
    """The checksum that a stream states at its end."""
    start = end.bit + _BITS
    last = _byte_after_stream(end)
    if len(window.bytes(start // 8, last - start // 8)) < last - start // 8:
        raise DataError(f"{path}: the file ends in the middle: it was truncated, at byte {last}; {RAW_MEND}")
    return window.held_bits(start, start + _CRC)


def _first_block_of_stream(window: _BlockFinder, start: int, path: str) -> _Mark | None:
    """The first block of the stream at a byte, or of the next one that has blocks; None at the end of the object."""
    while True:
        head = window.bytes(start, 4)
        if not head and start:
            if start > window.at + len(window.held):
                raise DataError(f"{path}: the file ends in the middle: it was truncated, at byte {start}; {RAW_MEND}")
            return None
        found = window.mark()
        if head[:3] != _HEADER or found is None or found.bit != (start + 4) * 8:
            raise DataError(f"{path}: not valid bz2: no stream begins at byte {start}; {RAW_MEND}")
        if found.block:
            return found
        window.drop(found.bit // 8)
        start = _byte_after_stream(found)


def _byte_after_stream(end: _Mark) -> int:
    """The byte behind the stream that ends with this mark."""
    return -(-(end.bit + _BITS + _CRC) // 8)
