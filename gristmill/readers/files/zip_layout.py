"""Whether the entries of a zip archive's directory are all that its file holds.

The directory lies at the end, and readers go by it alone. So where two archives were joined, the first would vanish.
"""

import struct
import zipfile
from typing import IO

from gristmill.errors import DataError

_LOCAL = struct.Struct("<4s2xH18xHH")
_SIGNATURE, _END = b"PK\x03\x04", b"PK\x05\x06"
_END_SIZE = 22  # bytes of the record at the end, without its comment
_DESCRIBED = 0x8
_DESCRIPTOR = 24  # bytes of the longest one: its signature, the checksum, and two sizes of 64 bits
_STEP = 1 << 20


def check_layout(file: IO[bytes], archive: zipfile.ZipFile, name: str) -> None:
    """Checks that the entries lie one behind the other, from the first byte of the file to the directory.

    Zeros between entries are allowed: some programs align entries with them.

    Args:
        file: the archive; it can seek.
        archive: its directory.
        name: path of the archive, for messages.

    Raises:
        DataError: bytes of the file belong to no entry, two entries overlap, or the archive does not end with the file.
        zipfile.BadZipFile: a header of an entry differs from the directory.
    """
    end = 0
    for info in sorted(archive.infolist(), key=lambda each: each.header_offset):
        if info.header_offset < end:
            raise _damaged_entry_error(name, f"entry {info.orig_filename!r} overlaps the one before it")
        _check_gap(file, end, info.header_offset, name)
        end = _end_of_entry(file, info)
    _check_gap(file, end, archive.start_dir, name)
    size = file.seek(0, 2)
    at = max(size - _END_SIZE - len(archive.comment), 0)
    file.seek(at)
    if file.read(len(_END)) != _END:
        raise _damaged_entry_error(name, "more follows behind its end")


def _end_of_entry(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """The byte after an entry's data, and after the descriptor that may follow it."""
    file.seek(info.header_offset)
    flags: int
    signature, flags, name_size, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    raw_name = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
    if signature != _SIGNATURE or file.read(name_size) != raw_name:
        raise zipfile.BadZipFile(f"the header of {info.orig_filename!r} differs from the directory")
    end: int = info.header_offset + _LOCAL.size + name_size + extra + info.compress_size
    if not flags & _DESCRIBED:
        return end
    file.seek(end)
    found = file.read(_DESCRIPTOR)
    for sizes in ("<LQQ", "<LLL"):
        try:
            values = struct.pack(sizes, info.CRC, info.compress_size, info.file_size)
        except struct.error:  # a size above 4 GiB
            continue
        for descriptor in (b"PK\x07\x08" + values, values):
            if found.startswith(descriptor):
                return end + len(descriptor)
    return end


def _check_gap(file: IO[bytes], start: int, end: int, name: str) -> None:
    file.seek(start)
    for at in range(start, end, _STEP):
        if file.read(min(_STEP, end - at)).strip(b"\0"):
            raise _damaged_entry_error(name, f"the bytes {start} to {end} belong to no entry of its directory")


def _damaged_entry_error(name: str, what: str) -> DataError:
    return DataError(
        f"{name}: not a complete zip archive: {what}: two archives were joined, entries are hidden, or it is damaged;"
        " pack the files into one archive"
    )
