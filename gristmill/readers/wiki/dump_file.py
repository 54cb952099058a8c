"""The plain bytes of a dump that is packed by bzip2, gzip or zstd, or not at all; its first bytes tell which."""

import bz2
from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.lake.rows.unpacking import unpack_gzip, unpack_zstandard
from gristmill.recipes.raw_object import RawObject

_STEP = 256 << 10
_PLAIN_STEP = 4 << 20
_MAGIC = 6
_BZIP2, _GZIP, _ZSTD, _7Z, _XZ = b"BZh", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\x00"


def plain_pieces(raw: RawObject) -> Iterator[bytes]:
    """The unpacked bytes of a dump, in pieces of at most 4 MiB. bzip2 may have any number of streams.

    Args:
        raw: the dump.

    Raises:
        DataError: it is packed by 7z or xz, is damaged or truncated, or unpacks to far more than honest data do.
    """
    size = 0
    for piece in _unpack_dump(raw):
        size += len(piece)
        raw.check_unpacked(size)
        yield piece


def _unpack_dump(raw: RawObject) -> Iterator[bytes]:
    rest = iter(raw.chunks())
    head = b""
    while len(head) < _MAGIC:
        piece = next(rest, None)
        if piece is None:
            break
        head += piece
    pieces = _head_then_rest(head, rest)
    if head.startswith((_7Z, _XZ)):
        raise DataError(f"{raw.path}: packed by 7z or xz; take the dump's .bz2 file, or pack it again by bzip2")
    if head.startswith(_BZIP2):
        return unpack_bzip2(pieces, raw.path)
    if head.startswith(_GZIP):
        return unpack_gzip(pieces, raw.path)
    return unpack_zstandard(pieces, raw.path) if head.startswith(_ZSTD) else pieces


def _head_then_rest(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest


def unpack_bzip2(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """The plain bytes of a bzip2 file with any number of streams.

    Args:
        pieces: the packed bytes.
        path: path of the file, for messages.

    Raises:
        DataError: it is damaged, or ends in the middle of a stream.
    """
    stream: bz2.BZ2Decompressor | None = None
    seen = size = 0
    for piece in pieces:
        for start in range(0, len(piece), _STEP):
            data = piece[start : start + _STEP]
            size += len(data)
            while data or (stream is not None and not stream.needs_input):
                if stream is None:
                    stream = bz2.BZ2Decompressor()
                try:
                    plain = stream.decompress(data, _PLAIN_STEP)
                except (OSError, ValueError) as error:
                    raise DataError(_damaged_stream_message(path, size - len(data), seen, str(error))) from error
                seen += len(plain)
                if plain:
                    yield plain
                data = b""
                if stream.eof:
                    data, stream = stream.unused_data, None
    if stream is not None or not size:
        raise DataError(_damaged_stream_message(path, size, seen, "it ends in the middle: it was truncated"))


def _damaged_stream_message(path: str, at: int, seen: int, why: str) -> str:
    return f"{path}: not valid bzip2 near byte {at}, after {seen} bytes of text: {why}; acquire this file again"
