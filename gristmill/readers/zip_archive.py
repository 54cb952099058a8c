"""Archives: the entries of a zip file, read one by one under limits, nothing written to disk."""

import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gristmill.errors import DataError

ENTRY_LIMIT = 16 << 20
TOTAL_LIMIT = 1 << 30
# What zipfile and the decompressors below it raise over damaged bytes.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_ENCRYPTED = 0x1
_CONTROLS = 32


@dataclass(frozen=True)
class Member:
    """One file inside an archive: its bytes, or with `refused` the reason why they were not read."""

    name: str
    raw: bytes
    refused: str = ""


def members(
    raw: bytes,
    *,
    name: str,
    wanted: Callable[[str], bool],
    entry_limit: int = ENTRY_LIMIT,
    total_limit: int = TOTAL_LIMIT,
) -> Iterator[Member]:
    """The wanted files of a zip archive in the order of its directory.

    What lies above a limit is refused before it is inflated: a small file that unpacks into terabytes costs
    nothing. Refused too are names that lead out of the archive, a second entry of one name, encrypted entries
    and compressions that Python does not know.

    Args:
        raw: the archive.
        name: what to call it in an error.
        wanted: tells by its name whether an entry is read at all; folders never are.
        entry_limit: the largest entry, in uncompressed bytes.
        total_limit: the most that all entries together may hold, in uncompressed bytes.

    Raises:
        DataError: the archive is no zip file, is cut off, or an entry fails its checksum.
    """
    seen: set[str] = set()
    left = total_limit
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for info in archive.infolist():
                if info.is_dir() or not wanted(info.filename):
                    continue
                reason = _refusal(info, seen, min(entry_limit, left))
                seen.add(info.filename)
                if reason:
                    yield Member(info.filename, b"", reason)
                    continue
                left -= info.file_size
                yield Member(info.filename, archive.read(info))
    except _DAMAGE as error:
        raise DataError(f"{name}: not a whole zip archive: {error} (acquire it again)") from error


def _refusal(info: zipfile.ZipInfo, seen: set[str], limit: int) -> str:
    """Why an entry is not read, or nothing. The declared size is trusted: zipfile reads no further."""
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


def unsafe(name: str) -> bool:
    """Whether a path leads out of its folder, is absolute, or holds what no path of ours may hold."""
    parts = name.split("/")
    return (
        not name
        or name.startswith("/")
        or ".." in parts
        or "\\" in name
        or any(ord(character) < _CONTROLS for character in name)
    )
