"""Reads the entries of a zip file one by one, within size limits. Nothing is written to disk."""

import bz2
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gristmill.errors import DataError

ENTRY_LIMIT = 16 << 20
"""Largest size of one entry by default, in unpacked bytes."""
TOTAL_LIMIT = 1 << 30
"""Largest size of all entries of an archive by default, in unpacked bytes."""
# Errors that zipfile and its decompressors raise for damaged bytes.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, NotImplementedError)
_ENCRYPTED = 0x1
_STEP = 64 << 10
_LZMA_STEP = 4 << 10  # bytes of LZMA that unpack to 30 MB at most
_LOCAL_HEADER = 30  # bytes; its last four are the lengths of the name and of the extra field that follow
_CONTROLS = 32


@dataclass(frozen=True)
class Member:
    """One file of an archive.

    Attributes:
        name: its path in the archive.
        raw: its bytes, unpacked; empty if it was refused.
        refused: why it was not read; empty if it was read.
    """

    name: str
    raw: bytes
    refused: str = ""


def members(
    raw: bytes,
    *,
    name: str,
    accept: Callable[[str], bool],
    entry_limit: int = ENTRY_LIMIT,
    total_limit: int = TOTAL_LIMIT,
) -> Iterator[Member]:
    """The accepted files of a zip archive, in the order of its directory.

    An entry above a size limit is refused before it is unpacked. So a small file that would unpack into terabytes costs
    nothing. Also refused are: names that lead out of the archive, the second entry of the same name, encrypted entries
    and compressions that Python does not support.

    Args:
        raw: the archive.
        name: name of the archive, for error messages.
        accept: whether to read the entry of this name. Folders are never read.
        entry_limit: largest size of one entry, in unpacked bytes.
        total_limit: largest size of all entries together, in unpacked bytes.

    Raises:
        DataError: the archive is not a zip file, or is truncated, or an entry fails its checksum.
    """
    seen: set[str] = set()
    left = total_limit
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for info in archive.infolist():
                if info.is_dir() or not accept(info.filename):
                    continue
                reason = _refusal(info, seen, min(entry_limit, left))
                seen.add(info.filename)
                if reason:
                    yield Member(info.filename, b"", reason)
                    continue
                left -= info.file_size
                yield Member(info.filename, _unpacked(raw, archive, info))
    except _DAMAGE as error:
        raise DataError(f"{name}: not a complete zip archive ({error}); acquire it again") from error


def _refusal(info: zipfile.ZipInfo, seen: set[str], limit: int) -> str:
    """Why an entry is not read, or ""."""
    if unsafe(info.filename):
        return "unsafe entry name"
    if info.filename in seen:
        return "entry name twice"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted entry"
    if info.compress_type not in {
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
        zipfile.ZIP_BZIP2,
        zipfile.ZIP_LZMA,
    }:
        return "unknown compression"
    if info.file_size > limit:
        return "entry too large"
    return ""


def _unpacked(raw: bytes, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. An entry that unpacks to more than it declares is damaged, and is not unpacked further.

    zipfile unpacks at least 4 KiB of packed bytes at once. Of bz2, these may hold gigabytes.
    """
    if info.compress_type != zipfile.ZIP_BZIP2:
        step = _LZMA_STEP if info.compress_type == zipfile.ZIP_LZMA else _STEP
        with archive.open(info) as file:
            return b"".join(iter(lambda: file.read(step), b""))
    name, extra = struct.unpack_from("<HH", raw, info.header_offset + _LOCAL_HEADER - 4)
    start = info.header_offset + _LOCAL_HEADER + name + extra
    plain = bz2.BZ2Decompressor().decompress(raw[start : start + info.compress_size], info.file_size + 1)
    if len(plain) != info.file_size or zlib.crc32(plain) != info.CRC:
        raise zipfile.BadZipFile(f"size or checksum of {info.filename!r} is wrong")
    return plain


def unsafe(name: str) -> bool:
    """Whether a path is empty, is absolute, leads out of its folder, or holds a backslash or control character.

    >>> [unsafe(path) for path in ("docs/a.txt", "../a.txt", "/etc/passwd")]
    [False, True, True]
    """
    parts = name.split("/")
    return (
        not name
        or name.startswith("/")
        or ".." in parts
        or "\\" in name
        or any(ord(character) < _CONTROLS for character in name)
    )
