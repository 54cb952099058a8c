"""Cuts records out of an object, and keeps how it is packed.

A unit is what can be unpacked alone: a gzip member, a Zstandard frame, a stream of bzip2 or xz. A crawl packs each
record as a unit, and readers begin at units. So a unit without a cut is copied byte for byte, and a unit with a cut is
packed anew, as one unit. An object that is not packed is one unit.
"""

import bz2
import codecs
import lzma
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, Protocol

import zstandard
from isal import isal_zlib

from gristmill.lake.rows.shard_file import LEVEL, PACKINGS, lower_suffix
from gristmill.lake.rows.unpacking import unpack_bzip2, unpack_gzip, unpack_xz, unpack_zstandard

_CRLF, _WARC = b"\r\n", b"WARC/"
_BEHIND = 2 * len(_CRLF)
"""Most bytes behind a record that go with it."""

Range = tuple[int, int]
"""[start, end) in bytes."""


class ChangedUnit(NamedTuple):
    """A unit that changes.

    Attributes:
        packed: its bytes in the object.
        plain: its bytes in what the object unpacks to.
    """

    packed: Range
    plain: Range


class Cuts(NamedTuple):
    """What is cut out of an object.

    Attributes:
        ranges: bytes of what the object unpacks to; sorted and disjoint.
        units: the units that change, in their order.
        left: number of plain bytes that are left.
    """

    ranges: list[Range]
    units: list[ChangedUnit]
    left: int


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Unpacked:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class _Packing(NamedTuple):
    """A packing: what unpacks an object, as `gunzipped` does, and what packs a unit of so many plain bytes.

    Empty units of Zstandard are dropped: a skippable frame may tell places of other frames, which change.
    """

    unpack: Callable[[Iterable[bytes], str, list[int]], Iterator[bytes]]
    packer: Callable[[int], _Packer]
    drops_empty: bool = False


_PLAIN = _Packing(lambda pieces, _path, _begins: iter(pieces), lambda _: _Unpacked())
_PACKINGS: dict[Callable[..., Iterator[bytes]], _Packing] = {
    unpack_gzip: _Packing(unpack_gzip, lambda _: isal_zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)),
    unpack_zstandard: _Packing(
        partial(unpack_zstandard, every=True),
        lambda size: zstandard.ZstdCompressor(write_checksum=True).compressobj(size=size),
        drops_empty=True,
    ),
    unpack_bzip2: _Packing(unpack_bzip2, lambda _: bz2.BZ2Compressor()),
    unpack_xz: _Packing(unpack_xz, lambda _: lzma.LZMACompressor()),
}


def _packing_of_path(path: str) -> _Packing:
    unpack = PACKINGS.get(lower_suffix(path))
    return _PACKINGS[unpack] if unpack else _PLAIN


def find_cuts(pieces: Iterable[bytes], path: str, size: int, records: Iterable[Range]) -> Cuts:
    """The ranges that must be cut so that no record is left, and no line end of it; and the units that change with it.

    Args:
        pieces: the bytes of the object.
        path: path of the object. Its ending names the packing.
        size: size of the object in bytes.
        records: bytes of each record in what the object unpacks to.

    Raises:
        DataError: the object is truncated, or is not packed as its name says.
    """
    asked, packing = sorted(records), _packing_of_path(path)
    begins: list[int] = []
    seen = _SeenUnits(_join_overlapping_ranges((start, end + _BEHIND) for start, end in asked), packing)
    ranges = widen_cuts(seen.pass_plain_bytes(packing.unpack(pieces, path, begins), begins, size), asked)
    units = [each for each in seen.units if _is_empty(each) or _ranges_within_part(ranges, each.plain)]
    return Cuts(ranges, units, seen.length - sum(end - start for start, end in ranges))


def remove_cut_ranges(pieces: Iterable[bytes], path: str, cuts: Cuts) -> Iterator[bytes]:
    """The bytes of the object without the cuts, packed as before.

    Args:
        pieces: the bytes of the object.
        path: path of the object. Its ending names the packing.
        cuts: result of find_cuts() for this object.

    Raises:
        DataError: the object is truncated, or is not packed as its name says.
    """
    packing = _packing_of_path(path)
    for unit, group in groupby(_split_at_units(pieces, cuts.units), itemgetter(0)):
        packed = (piece for _, piece in group)
        if unit is None:
            yield from packed
            continue
        first, last = unit.plain
        own = [
            (max(start, first) - first, min(end, last) - first)
            for start, end in _ranges_within_part(cuts.ranges, unit.plain)
        ]
        left = last - first - sum(end - start for start, end in own)
        if left:
            packer = packing.packer(left)
            for kept in bytes_outside(packing.unpack(packed, path, []), own):
                yield packer.compress(kept)
            yield packer.flush()


class _SeenUnits:
    """Notes the units that may change while what they unpack to passes.

    Args:
        near: the plain bytes that may be cut; sorted and disjoint.
        packing: packing of the object.

    Attributes:
        units: the units that may change.
        length: number of plain bytes that have passed.
    """

    def __init__(self, near: list[Range], packing: _Packing) -> None:
        self._near, self._packing = near, packing
        self._packed = self._plain = self.length = 0  # `_packed` and `_plain`: where the last unit begins
        self.units: list[ChangedUnit] = []

    def pass_plain_bytes(self, plain: Iterable[bytes], begins: list[int], size: int) -> Iterator[bytes]:
        """The plain bytes unchanged. `begins` receives where units begin, each before its first plain byte."""
        for piece in plain:
            self._end_last_unit(begins)
            yield piece
            self.length += len(piece)
        self._end_last_unit(begins)
        self._end_last_unit([size])

    def _end_last_unit(self, begins: list[int]) -> None:
        for begin in begins:
            unit = ChangedUnit((self._packed, begin), (self._plain, self.length))
            if _is_empty(unit):
                noted = begin > 0 and self._packing.drops_empty
            else:
                noted = bool(_ranges_within_part(self._near, unit.plain))
            if noted:
                self.units.append(unit)
            self._packed, self._plain = begin, self.length
        begins.clear()


def _split_at_units(
    pieces: Iterable[bytes], units: Iterable[ChangedUnit]
) -> Iterator[tuple[ChangedUnit | None, bytes]]:
    """The pieces, cut where a unit begins or ends, each with its unit; None: it is in none of these units."""
    waiting, at = iter(units), 0
    unit = next(waiting, None)
    for piece in pieces:
        rest = piece
        while rest:
            if unit and unit.packed[1] <= at:
                unit = next(waiting, None)
                continue
            inside = unit is not None and unit.packed[0] <= at
            edge = unit.packed[inside] - at if unit else len(rest)
            yield unit if inside else None, rest[:edge]
            rest, at = rest[edge:], at + len(rest[:edge])


def _is_empty(unit: ChangedUnit) -> bool:
    return unit.plain[0] == unit.plain[1]


def _ranges_within_part(ranges: list[Range], part: Range) -> list[Range]:
    """The ranges that have bytes of a part. They are sorted and disjoint."""
    first = bisect_right(ranges, part[0], key=itemgetter(1))
    return ranges[first : bisect_left(ranges, part[1], key=itemgetter(0))]


def _join_overlapping_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Sorted ranges, with those that overlap joined."""
    joined: list[Range] = []
    for start, end in ranges:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def widen_cuts(pieces: Iterable[bytes], cuts: Iterable[Range]) -> list[Range]:
    """Cuts that take the line end behind a record with it, if the record is a line of its own.

    Behind a record of WARC stand two line ends. They are taken too. A byte order mark before the first record stays,
    unless nothing else is left.

    Args:
        pieces: the bytes, from the begin.
        cuts: bytes of each record.

    Returns:
        The cuts, sorted and disjoint.
    """
    mark = len(codecs.BOM_UTF8)
    asked = {at for start, end in cuts for at in (*range(start - mark, start + len(_WARC)), *range(end, end + _BEHIND))}
    at = 0
    known: dict[int, int] = {}
    for piece in pieces:
        known |= {each: piece[each - at] for each in asked if at <= each < at + len(piece)}
        at += len(piece)

    def at_place(start: int, length: int) -> bytes:
        return bytes(known[each] for each in range(start, start + length) if each in known)

    wide: list[Range] = []
    marked = at_place(0, mark) == codecs.BOM_UTF8
    for start, end in sorted(cuts):
        ends = (2 * _CRLF,) if at_place(start, len(_WARC)) == _WARC else ()
        found = next((each for each in (*ends, _CRLF, b"\n") if at_place(end, len(each)) == each), b"")
        own = start == (mark if marked else 0) or at_place(start - 1, 1) == b"\n"
        wide.append((start, end + len(found) if own else end))
    ranges = _join_overlapping_ranges(wide)
    only_mark = marked and at - mark == sum(end - start for start, end in ranges)
    return [(0, mark), *ranges] if only_mark else ranges


def bytes_outside(pieces: Iterable[bytes], cuts: Iterable[Range]) -> Iterator[bytes]:
    """The bytes outside of some ranges.

    Args:
        pieces: the bytes.
        cuts: the ranges, sorted.

    >>> list(bytes_outside([b"abc", b"def"], [(1, 2), (2, 4)]))
    [b'a', b'ef']
    """
    ranges, at = list(cuts), 0
    for piece in pieces:
        begin, end = at, at + len(piece)
        for first, last in (each for each in ranges if each[0] < end and each[1] > at):
            if begin < first:
                yield piece[begin - at : first - at]
            begin = max(begin, last)
        if begin < end:
            yield piece[begin - at :]
        at = end
