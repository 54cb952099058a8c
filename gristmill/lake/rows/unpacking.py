"""Unpacks gzip, bzip2, xz and Zstandard files in bounded memory. A truncated file is an error, never a shorter one."""

import bz2
import lzma
from collections.abc import Callable, Iterable, Iterator

import zstandard
from isal import igzip_lib

from gristmill.errors import DataError

_STEP = 1 << 22
"""Most bytes that one call unpacks: a small file may hold a huge text, and memory must stay bounded."""
_GZIP_STEP = 1 << 18
"""Most bytes that one call of igzip unpacks. They remain in the processor's cache until they are used."""
_FRAME_STEP = 4 << 10
"""Packed bytes per call of zstd, for the same reason: it always unpacks all of its input."""

_MAGIC = 4
"""Bytes that tell the kind of a Zstandard frame."""

_SKIPPABLE = {bytes([first]) for first in range(0x50, 0x60)}

_XZ_MEMORY = 512 << 20
"""Most memory for xz; its level 9 needs 65 MiB."""

_Decompressor = bz2.BZ2Decompressor | lzma.LZMADecompressor | igzip_lib.IgzipDecompressor
_WRONG = (OSError, lzma.LZMAError, igzip_lib.IsalError, EOFError, ValueError)
"""What the decompressors raise for wrong bytes."""

RAW_MEND = "if it is raw data, get this file again; else remove it, and `gristmill make` makes it again"
"""The mend of a file that cannot be unpacked, whoever made it."""


def unpack_gzip(pieces: Iterable[bytes], path: str, begins: list[int] | None = None) -> Iterator[bytes]:
    """The plain bytes of a gzip file with any number of members; zero padding may follow them (RFC 1952).

    Args: as in unpack_pieces(). `begins` receives the byte offset of each member before its plain bytes are yielded.

    Yields:
        Plain bytes of at most 256 KiB, all of one member.

    Raises:
        DataError: the file is truncated, or is wrong gzip.
    """
    return _unpack_streams(pieces, path, _new_gzip, "gzip", begins, _GZIP_STEP, b"\x1f")


def _new_gzip() -> igzip_lib.IgzipDecompressor:
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def unpack_zstandard(
    pieces: Iterable[bytes], path: str, begins: list[int] | None = None, *, every: bool = False
) -> Iterator[bytes]:
    """The plain bytes of a Zstandard file with any number of frames.

    Skippable frames, which pzstd and the seekable format write, hold no text. Each counts as the end of the frame
    before it; at the begin of the file, and with `every`, as a frame of its own.

    Args:
        pieces: bytes of the object, in pieces.
        path: path of the object, for the message.
        begins: list that receives the byte offset of each frame before its first plain bytes are yielded.
        every: whether `begins` receives the offset of each skippable frame, too.

    Raises:
        DataError: the object is wrong, or its last frame does not end.
    """
    frame: zstandard.ZstdDecompressionObj | None = None
    seen = size = begin = 0
    magic = b""
    for piece in _limited_slices(pieces):
        data = piece
        size += len(piece)
        while data:
            if frame is None:
                begin, magic = size - len(data), b""
                frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            if len(magic) < _MAGIC:
                magic += data[: _MAGIC - len(magic)]
                if begins is not None and len(magic) == _MAGIC and (every or not (begin and is_skippable(magic))):
                    begins.append(begin)
            try:
                plain = frame.decompress(data)
            except zstandard.ZstdError as error:
                raise DataError(_damaged_stream_message(path, seen, f"not valid zstd ({error})")) from error
            if plain:
                seen += len(plain)
                yield plain
            seen = seen or 1
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None or not seen:
        raise DataError(_damaged_stream_message(path, seen, "the file ends in the middle: it was truncated"))


def is_skippable(begin: bytes) -> bool:
    r"""Whether a skippable frame of Zstandard begins with these bytes (RFC 8878, section 3.1.2).

    >>> is_skippable(b"\x5e\x2a\x4d\x18"), is_skippable(b"\x28\xb5\x2f\xfd")
    (True, False)
    """
    return begin[:1] in _SKIPPABLE and begin[1:_MAGIC] == b"\x2a\x4d\x18"


def unpack_bzip2(pieces: Iterable[bytes], path: str, begins: list[int] | None = None) -> Iterator[bytes]:
    """The plain bytes of a bzip2 file with any number of streams.

    Args:
        pieces: bytes of the object, in pieces.
        path: path of the object, for the message.
        begins: list that receives the byte offset of each stream before its first plain bytes are yielded.

    Raises:
        DataError: the object is wrong, or its last stream does not end.
    """
    return _unpack_streams(pieces, path, bz2.BZ2Decompressor, "bzip2", begins)


def unpack_xz(pieces: Iterable[bytes], path: str, begins: list[int] | None = None) -> Iterator[bytes]:
    """The plain bytes of an xz file with any number of streams. It may need 512 MiB of memory.

    Args:
        pieces: bytes of the object, in pieces.
        path: path of the object, for the message.
        begins: list that receives the byte offset of each stream before its first plain bytes are yielded.

    Raises:
        DataError: the object is wrong, needs more memory, or its last stream does not end.
    """
    return _unpack_streams(pieces, path, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY), "xz", begins)


def _unpack_streams(  # noqa: C901 - one state machine, read as one
    pieces: Iterable[bytes],
    path: str,
    new: Callable[[], _Decompressor],
    kind: str,
    begins: list[int] | None,
    step: int = _STEP,
    magic: bytes = b"",
) -> Iterator[bytes]:
    """The plain bytes of streams that follow each other, each of which begins with `magic`; zeros may follow each."""
    stream: _Decompressor | None = None
    seen = size = 0
    for piece in pieces:
        data = piece
        size += len(piece)
        while data:
            if stream is None:
                data = data.lstrip(b"\x00") if seen else data
                if not data:
                    break
                if seen and not data.startswith(magic):
                    raise DataError(
                        _damaged_stream_message(path, seen, f"the bytes after the last {kind} member are not {kind}")
                    )
                if begins is not None:
                    begins.append(size - len(data))
                stream = new()
            try:
                plain = stream.decompress(data, step)
                while True:
                    if plain:
                        seen += len(plain)
                        yield plain
                    if stream.eof or stream.needs_input:
                        break
                    plain = stream.decompress(b"", step)
            except _WRONG as error:  # type: ignore[misc]  # igzip_lib has no stub
                raise DataError(_damaged_stream_message(path, seen, f"not valid {kind} ({error})")) from error
            seen = seen or 1
            data = stream.unused_data if stream.eof else b""
            stream = None if stream.eof else stream
    if stream is not None or not seen:
        raise DataError(_damaged_stream_message(path, seen, "the file ends in the middle: it was truncated"))


def _limited_slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _FRAME_STEP):
            yield piece[start : start + _FRAME_STEP]


def _damaged_stream_message(path: str, seen: int, what: str) -> str:
    return f"{path}: {what}, after {seen} bytes of text; {RAW_MEND}"
