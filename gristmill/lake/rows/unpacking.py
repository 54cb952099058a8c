"""Unpacks gzip and Zstandard files in bounded memory. A truncated file is an error, never a shorter one."""

from collections.abc import Iterable, Iterator

import zstandard
from isal import igzip_lib

from gristmill.errors import DataError

_STEP = 1 << 22
"""Most bytes that one call unpacks: a small file may hold a huge text, and memory must stay bounded."""
_FRAME_STEP = 4 << 10
"""Packed bytes per call of zstd, for the same reason: it always unpacks all of its input."""

RAW_MEND = "acquire or rebuild this file"
"""The mend of a file that cannot be unpacked, whoever made it."""


def gunzipped(pieces: Iterable[bytes], path: str, begins: list[int] | None = None) -> Iterator[bytes]:  # noqa: C901 - one state machine, read as one
    """The plain bytes of a gzip file with any number of members; zero padding may follow them (RFC 1952).

    Args: as in unpacked(). `begins` receives the byte offset of each member before its first plain bytes are yielded.

    Yields:
        Plain bytes of at most 4 MiB, all of one member.

    Raises:
        DataError: the file is truncated, or is not valid gzip.
    """
    member: igzip_lib.IgzipDecompressor | None = None
    seen = size = 0
    for piece in pieces:
        data = piece
        size += len(piece)
        while data:
            if member is None:
                data = data.lstrip(b"\x00") if seen else data
                if not data:
                    break
                if seen and not data.startswith(b"\x1f"):
                    raise DataError(_broken(path, seen, "the bytes after the last gzip member are not gzip"))
                if begins is not None:
                    begins.append(size - len(data))
                member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
            try:
                plain = member.decompress(data, _STEP)
                while True:
                    if plain:
                        seen += len(plain)
                        yield plain
                    if member.eof or member.needs_input:
                        break
                    plain = member.decompress(b"", _STEP)
            except (igzip_lib.IsalError, EOFError, ValueError) as error:  # type: ignore[misc]  # no stub
                raise DataError(_broken(path, seen, f"not valid gzip ({error})")) from error
            seen = seen or 1
            data = member.unused_data if member.eof else b""
            member = None if member.eof else member
    if member is not None or not seen:
        raise DataError(_broken(path, seen, "the file ends in the middle: it was truncated"))


def unzstd(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The plain bytes of a Zstandard file with any number of frames.

    Args:
        pieces: of the object.
        path: of the object, for the message.

    Raises:
        DataError: the object is not valid, or its last frame does not end.
    """
    frame: zstandard.ZstdDecompressionObj | None = None
    seen = 0
    for piece in _slices(pieces):
        data = piece
        while data:
            if frame is None:
                frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            try:
                plain = frame.decompress(data)
            except zstandard.ZstdError as error:
                raise DataError(_broken(path, seen, f"not valid zstd ({error})")) from error
            if plain:
                seen += len(plain)
                yield plain
            seen = seen or 1
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None or not seen:
        raise DataError(_broken(path, seen, "the file ends in the middle: it was truncated"))


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _FRAME_STEP):
            yield piece[start : start + _FRAME_STEP]


def _broken(path: str, seen: int, what: str) -> str:
    return f"{path}: {what}, after {seen} bytes of text; {RAW_MEND}"
