"""The units of an object from which reading can begin: gzip members, Zstandard frames, bz2 blocks, plain bytes.

A part of an object begins at its first unit, which is looked for from its first byte on. See readers/parts/lines.py.
"""

from collections.abc import Callable, Iterator
from itertools import chain

import zstandard
from isal import igzip_lib

from gristmill.lake.rows.raw_parts import RawPart
from gristmill.lake.rows.unpacking import unpack_gzip, unpack_zstandard
from gristmill.readers.parts.bzip2 import bz2_units
from gristmill.recipes.raw_object import RawObject

_TRIAL = 64 << 10
"""Packed bytes that are unpacked before bytes that look like the begin of a unit are taken for one."""
_TRIAL_PLAIN = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_RESERVED = 0xE0  # flags of a gzip header that no writer sets
_NO_CUT = (".xz", ".lzma", ".zip", ".7z", ".rar", ".lz4", ".tar", ".tgz", ".tbz2", ".tar.gz", ".tar.bz2", ".tar.zst")

Unit = int | bytes
"""An int: a unit begins, at this byte of the object. Bytes: plain bytes of the unit that began last."""


def cut_by(name: str) -> str:
    """The units at which an object of this name is cut; empty if it cannot be cut.

    >>> [cut_by(name) for name in ("a.jsonl", "a.warc.gz", "a.xml.bz2", "a.tar.gz")]
    ['lines', 'gzip members', 'bz2 blocks', '']
    """
    lower = name.lower()
    if lower.endswith(_NO_CUT):
        return ""
    packed = {".gz": "gzip members", ".zst": "zstd frames", ".zstd": "zstd frames", ".bz2": "bz2 blocks"}
    return next((unit for ending, unit in packed.items() if lower.endswith(ending)), "lines")


def units(raw: RawObject, part: RawPart) -> Iterator[Unit]:
    """The units from the first one of a part to the end of the object; the caller stops where it has enough.

    Args:
        raw: the object.
        part: part of the object.

    Yields:
        The begin of a unit, and its plain bytes, and so on; nothing if no unit begins in the part.

    Raises:
        DataError: the object is truncated or damaged, or is not packed as its name says.
    """
    lower = raw.path.lower()
    if lower.endswith(".bz2"):
        return bz2_units(raw.chunks(), raw.path, part, raw.sums)
    if lower.endswith(".gz"):
        return _packed_members(raw, part, _GZIP, _is_gzip, unpack_gzip)
    if lower.endswith((".zst", ".zstd")):
        return _packed_members(raw, part, _ZSTD, _is_zstd, unpack_zstandard)
    return _units_of_unpacked_object(raw.chunks(), part)


def _units_of_unpacked_object(pieces: Iterator[bytes], part: RawPart) -> Iterator[Unit]:
    """The bytes of an object that is not packed. A unit begins at the part's start, and one at its end."""
    yield part.start
    left = part.end - part.start
    for piece in pieces:
        if 0 <= left < len(piece):
            if left:
                yield piece[:left]
            yield part.end
            yield piece[left:]
            left = -1
        else:
            yield piece
            left -= len(piece) if left >= 0 else 0


Unpack = Callable[[Iterator[bytes], str, list[int]], Iterator[bytes]]


def _packed_members(
    raw: RawObject, part: RawPart, magic: bytes, is_one: Callable[[bytes], bool], unpack: Unpack
) -> Iterator[Unit]:
    pieces, first = raw.chunks(), 0
    if part.start:
        found = _first_unit_in_part(pieces, part, magic, is_one)
        if found is None:
            return
        first, pieces = found
    begins: list[int] = []
    told = 0
    for plain in unpack(pieces, raw.path, begins):
        while told < len(begins):
            yield first + begins[told]
            told += 1
        yield plain
    for begin in begins[told:]:
        yield first + begin


def first_gzip(raw: RawObject, part: RawPart) -> tuple[int, Iterator[bytes]] | None:
    """The first gzip member that begins in a part, and the object's bytes from it on; None if no member begins there.

    Args:
        raw: the object, which is not read yet.
        part: part of the object.
    """
    return _first_unit_in_part(raw.chunks(), part, _GZIP, _is_gzip) if part.start else (0, raw.chunks())


def _first_unit_in_part(
    pieces: Iterator[bytes], part: RawPart, magic: bytes, is_one: Callable[[bytes], bool]
) -> tuple[int, Iterator[bytes]] | None:
    """The first unit that begins in a part, and the bytes from it on; None if no unit begins there."""
    at, held, look = part.start, b"", 0
    for piece in chain(pieces, [b""]):
        held += piece
        while (found := held.find(magic, look)) >= 0 and at + found < part.end:
            if piece and len(held) - found < _TRIAL:
                break  # more bytes are needed to tell
            if is_one(held[found : found + _TRIAL]):
                return at + found, chain([held[found:]], pieces)
            look = found + 1
        keep = found if found >= 0 else max(look, len(held) - len(magic) + 1)
        at, held, look = at + keep, held[keep:], 0
        if at >= part.end:
            return None
    return None


def _is_gzip(data: bytes) -> bool:
    """Whether a gzip member begins with these bytes, as far as they tell."""
    if len(data) < 10 or data[3] & _RESERVED:
        return False
    member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        member.decompress(data, _TRIAL_PLAIN)
    except (igzip_lib.IsalError, EOFError, ValueError):  # type: ignore[misc]  # no stub
        return False
    return not member.eof or member.unused_data[:3] in {_GZIP, b"", b"\0\0\0"} or len(member.unused_data) < len(_GZIP)


def _is_zstd(data: bytes) -> bool:
    """Whether a Zstandard frame begins with these bytes, as far as they tell."""
    frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
    try:
        for start in range(0, min(len(data), _TRIAL >> 3), 4 << 10):
            frame.decompress(data[start : start + (4 << 10)])
            if frame.eof:
                return True
    except zstandard.ZstdError:
        return False
    return True
