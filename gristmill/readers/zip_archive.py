"""Reads the entries of a zip file one by one, within size limits. Nothing is written to disk."""

import bz2
import copy
import io
import lzma
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from gristmill.errors import DataError
from gristmill.readers.files.zip_layout import check_layout

ENTRY_LIMIT = 16 << 20
"""Largest size of one entry by default, in unpacked bytes."""
TOTAL_LIMIT = 1 << 30
"""Largest size of all entries of an archive by default, in unpacked bytes."""
DIRECTORY_LIMIT = 32 << 20
"""Largest size of an archive's directory, in bytes. It is read as a whole, because it lies at the end."""
ENTRIES_LIMIT = 200_000
"""Most entries of an archive."""
# Errors that zipfile and its decompressors raise for damaged bytes.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    ValueError,
)
_ENCRYPTED = 0x1
_STEP = 64 << 10
_LZMA_STEP = 4 << 10  # bytes of LZMA that unpack to 30 MB at most
_LOCAL_HEADER = 30  # bytes; its last four are the lengths of the name and of the extra field that follow
_IS_UTF8 = 0x800  # the flag of an entry whose name is UTF-8; without it, many names are as well
_LONGEST_NAME = 1000
_ENTRY = b"PK\x01\x02"  # begins each entry of the directory


TOO_LARGE = "entry too large"
"""Why an entry is refused that is above the limit of one."""
FOLDER_WITH_DATA = "folder with data"
"""Why an entry is refused whose name ends with a slash, though it has data."""


@dataclass(frozen=True)
class Member:
    """One file of an archive.

    Attributes:
        name: its path in the archive.
        raw: its bytes, unpacked; empty if it was refused, but for the first bytes that MemberRules.begin asks for.
        refused: reason why it was not read; empty if it was read. Short and stable, because ledgers count by it.
        size: unpacked size in bytes, as the archive declares it, if it was refused or is only named; else 0.
        modified: time of the last change in seconds since 1970; None: unknown. Zip keeps no time zone: always None.
        comment: comment of the archive. `git archive` writes the commit id there.
    """

    name: str
    raw: bytes
    refused: str = ""
    size: int = 0
    modified: float | None = None
    comment: str = ""


@dataclass
class MemberRules:
    """What an archive refuses, whatever its format.

    Attributes:
        accept: whether to read the entry of this name. Folders are never read.
        entry_limit: largest size of one entry, in unpacked bytes.
        total_limit: largest size of all entries together, in unpacked bytes; None: no such limit.
        unread: whether an accepted entry of this name is only named: its bytes are passed over, and no limit of size
            counts. For tar archives.
        begin: number of bytes to read of an entry above `entry_limit`, from its beginning.
    """

    accept: Callable[[str], bool]
    entry_limit: int = ENTRY_LIMIT
    total_limit: int | None = TOTAL_LIMIT
    unread: Callable[[str], bool] = lambda _: False
    begin: int = 0

    def __post_init__(self) -> None:
        self._seen: set[str] = set()
        self._total = 0

    def refusal_reason(self, name: str, size: int, kind: str = "") -> str:
        """The reason why an accepted entry is not read; empty if it is read. Its size then counts towards the total.

        Args:
            name: path of the entry in the archive.
            size: size of the entry in bytes, unpacked.
            kind: kind of an entry that is not a plain file, such as "link"; empty for a plain file.
        """
        if is_unsafe_path(name.removesuffix("/")):
            return "unsafe entry name"
        if name.endswith("/"):
            return FOLDER_WITH_DATA
        if name in self._seen:
            return "entry name twice"
        self._seen.add(name)
        if kind:
            return kind
        if size > self.entry_limit:
            return TOO_LARGE
        if self.total_limit is not None and self._total + size > self.total_limit:
            return "archive too large"
        self._total += size
        return ""


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
    and compressions that Python does not support. An archive whose directory is larger than DIRECTORY_LIMIT, or has
    more than ENTRIES_LIMIT entries, is refused as a whole, before an object is made of any entry. So is a file that
    holds more than the entries of its directory, such as two archives that were joined.

    Args:
        raw: bytes of the archive.
        name: name of the archive, for error messages.
        accept: whether to read the entry of this name. Folders are never read.
        entry_limit: largest size of one entry, in unpacked bytes.
        total_limit: largest size of all entries together, in unpacked bytes.

    Raises:
        DataError: the archive is not a zip file, or is truncated, or has too many entries, or an entry fails its
            checksum.
    """
    return read_zip_file_members(io.BytesIO(raw), name, MemberRules(accept, entry_limit, total_limit))


def read_zip_file_members(file: IO[bytes], name: str, rules: MemberRules) -> Iterator[Member]:
    """The accepted files of a zip archive in a file that can seek; see members().

    Args:
        file: the archive. It stays open.
        name: name of the archive, for error messages.
        rules: rules that say which entries are read and which are refused.

    Raises:
        DataError: as for members().
    """
    bounded = BoundedDirectory(file, name)
    try:
        with zipfile.ZipFile(bounded) as archive:
            bounded.opened = True
            check_layout(file, archive, name)
            comment = archive.comment.decode("utf-8", "replace")
            for info in archive.infolist():
                path = _entry_path(info)
                if (path.endswith("/") and not info.file_size) or not (path.endswith("/") or rules.accept(path)):
                    continue
                reason = rules.refusal_reason(path, info.file_size, _unreadable_entry_kind(info))
                if reason:
                    begin = _first_unpacked_bytes(file, archive, info, rules.begin) if reason == TOO_LARGE else b""
                    yield Member(path, begin, reason, info.file_size, comment=comment)
                else:
                    yield Member(path, _unpack_entry(file, archive, info), comment=comment)
    except _DAMAGE as error:
        raise DataError(f"{name}: not a complete zip archive ({error}); acquire it again") from error


class BoundedDirectory(io.RawIOBase):
    """A file from which zipfile reads the directory within limits, however large the archive says that it is.

    zipfile goes by the size that the end of the archive declares: it reads so many bytes at once, and makes an object
    of each entry in them. The declared number of entries, which may be a lie, means nothing to it.

    Args:
        file: the archive, which can seek.
        name: name of the archive, for error messages.

    Attributes:
        opened: whether zipfile has read the directory; from then on nothing is limited here.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        super().__init__()
        self._file, self._name = file, name
        self.opened = False

    def read(self, size: int = -1, /) -> bytes:
        if self.opened:
            return self._file.read(size)
        if size > DIRECTORY_LIMIT:
            raise self._too_large(f"{size:,} bytes")
        data = self._file.read(size if size >= 0 else DIRECTORY_LIMIT + 1)
        if len(data) > DIRECTORY_LIMIT:
            raise self._too_large(f"more than {DIRECTORY_LIMIT:,} bytes")
        entries = data.count(_ENTRY)
        if entries > ENTRIES_LIMIT:
            raise self._too_large(f"{entries:,} entries")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves to an offset.

        Args:
            offset: number of bytes from `whence`.
            whence: origin of the offset, as for io.IOBase.seek().

        Returns:
            The new offset, counted from the beginning.
        """
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The offset of the next byte to read."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Whether the file can seek."""
        return True

    def _too_large(self, what: str) -> DataError:
        return DataError(
            f"{self._name}: the directory of the archive has {what}, but may have {DIRECTORY_LIMIT:,} bytes and"
            f" {ENTRIES_LIMIT:,} entries; pack it as tar, or as several archives"
        )


def _unreadable_entry_kind(info: zipfile.ZipInfo) -> str:
    """The kind of an entry, if it is not a file that can be read."""
    if info.flag_bits & _ENCRYPTED:
        return "encrypted entry"
    kind = stat.S_IFMT(info.external_attr >> 16)  # what Unix kept; 0: another system wrote the archive
    if kind == stat.S_IFLNK:
        return "link"
    if kind not in {0, stat.S_IFREG}:
        return "no regular file"
    compressions = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
    return "" if info.compress_type in compressions else "unknown compression"


def _unpack_entry(raw: IO[bytes], archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. An entry that unpacks to more than it declares is damaged, and is not unpacked further.

    zipfile unpacks at least 4 KiB of packed bytes at once. Of bz2, these may hold gigabytes. It also ends silently
    where the declared size ends.
    """
    if info.compress_type in {zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}:
        plain = _decompress_entry(raw, info)
    else:
        step = _LZMA_STEP if info.compress_type == zipfile.ZIP_LZMA else _STEP
        one_more = copy.copy(info)
        one_more.file_size += 1
        with archive.open(one_more) as file:
            plain = b"".join(iter(lambda: file.read(step), b""))
    if len(plain) != info.file_size or zlib.crc32(plain) != info.CRC:
        raise _damaged_zip_error(info)
    return plain


def _first_unpacked_bytes(raw: IO[bytes], archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """At most so many of the first bytes of an entry: more are not unpacked."""
    if not most:
        return b""
    if info.compress_type in {zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}:
        return _decompressor_of_entry(info).decompress(_first_packed_bytes(raw, info, most), most)
    with archive.open(info) as file:
        return file.read(min(most, _LZMA_STEP))


def _first_packed_bytes(raw: IO[bytes], info: zipfile.ZipInfo, most: int) -> bytes:
    """At most so many of the first bytes of an entry, as they are packed."""
    raw.seek(info.header_offset)
    name, extra = struct.unpack_from("<HH", raw.read(_LOCAL_HEADER), _LOCAL_HEADER - 4)
    raw.seek(info.header_offset + _LOCAL_HEADER + name + extra)
    return raw.read(min(info.compress_size, most))


def _decompressor_of_entry(info: zipfile.ZipInfo) -> "bz2.BZ2Decompressor | zlib._Decompress":
    return bz2.BZ2Decompressor() if info.compress_type == zipfile.ZIP_BZIP2 else zlib.decompressobj(-zlib.MAX_WBITS)


def _decompress_entry(raw: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """An entry's data, or one byte more than it declares. Its packed data must end where its stream does."""
    unpack = _decompressor_of_entry(info)
    plain = unpack.decompress(_first_packed_bytes(raw, info, info.compress_size), info.file_size + 1)
    if not unpack.eof or unpack.unused_data:
        raise _damaged_zip_error(info)
    return plain


def _damaged_zip_error(info: zipfile.ZipInfo) -> zipfile.BadZipFile:
    return zipfile.BadZipFile(f"size or checksum of {info.filename!r} is wrong")


def _entry_path(info: zipfile.ZipInfo) -> str:
    r"""An entry's name, as UTF-8 whether it says so or not. Bytes that are not UTF-8 become `\x..`, which is unsafe."""
    raw_name = info.orig_filename.encode("utf-8" if info.flag_bits & _IS_UTF8 else "cp437")
    return strip_dot_slash(raw_name.decode("utf-8", "backslashreplace"))


def strip_dot_slash(name: str) -> str:
    """A path of an archive without the `./` before it.

    >>> strip_dot_slash("./docs/a.txt")
    'docs/a.txt'
    """
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def is_unsafe_path(name: str) -> bool:
    """Whether a path is no plain relative one: it is empty, absolute or longer than 1,000 characters, or has a part
    that is empty, `.` or `..`, or a backslash, a control character or a separator of lines.

    >>> [is_unsafe_path(path) for path in ("docs/a.txt", "../a.txt", "/etc/passwd", "a//b")]
    [False, True, True, True]
    """
    return (
        len(name) > _LONGEST_NAME
        or any(part in {"", ".", ".."} for part in name.split("/"))
        or "\\" in name
        or any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in name)
    )
