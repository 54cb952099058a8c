"""Reads the entries of a tar archive as a stream, within size limits. Nothing is written to disk.

Source: POSIX.1-2024, `pax`, for ustar and PAX headers; the GNU tar manual, "Basic Tar Format", for long names and
sparse files. An entry is a header of 512 bytes and its data, filled up to whole blocks of 512 bytes. A PAX header gives
an entry values that do not fit into its header; a global one gives them to all entries that follow. Two blocks of zeros
end the archive.

Python's `tarfile` takes a damaged header, or a missing end, for the end of the archive. Here both are errors.
"""

import math
import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from gristmill.errors import DataError
from gristmill.formats.tar.extended_headers import pax_records
from gristmill.readers.zip_archive import TOO_LARGE, Member, MemberRules, strip_dot_slash

_BLOCK = 512
_STEP = 1 << 20
_HEADER_LIMIT = 1 << 20
"""Largest size of a PAX header or long name."""
_IS_EXTENDED, _SPARSE_EXTENDED = 482, 504  # the bytes that say whether another block of a sparse file's map follows
_FILES = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE})
_PAX = frozenset({tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE})
_KINDS = {
    tarfile.LNKTYPE: "link",
    tarfile.SYMTYPE: "link",
    tarfile.CHRTYPE: "no regular file",
    tarfile.BLKTYPE: "no regular file",
    tarfile.FIFOTYPE: "no regular file",
    tarfile.GNUTYPE_SPARSE: "sparse file",
}
_WITHOUT_DATA = frozenset(
    {tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE}
)


class _Entry(NamedTuple):
    """One entry, with what its headers say together."""

    name: str
    size: int
    kind: bytes
    refused: str
    modified: float | None
    comment: str


def tar_members(file: IO[bytes], name: str, rules: MemberRules) -> Iterator[Member]:
    """The accepted files of a tar archive, in its order. Entries that are refused are not kept in memory.

    Refused are: links, devices, FIFOs, sparse files and unknown kinds of entries; names that lead out of the archive,
    and the second entry of the same name; entries above a limit. `./` in front of a name is removed. A name that is not
    UTF-8 counts as unsafe.

    Args:
        file: the plain archive; it is read to its end, and need not seek.
        name: name of the archive, for error messages.
        rules: rules that say which entries are read and which are refused.

    Raises:
        DataError: the archive is truncated or damaged, or more follows behind its end.
    """
    stream = _TarStream(file, name)
    for entry in _walk_entries(stream):
        is_folder = entry.kind == tarfile.DIRTYPE
        if is_folder or not (entry.name.endswith("/") or rules.accept(entry.name)):
            stream.skip_entry_data(entry.size)
            continue
        unread = rules.unread(entry.name)
        reason = rules.refusal_reason(entry.name, 0 if unread else entry.size, entry.refused)
        if reason or unread:
            begin = stream.data(min(rules.begin, entry.size)) if reason == TOO_LARGE else b""
            stream.skip_entry_data(entry.size - len(begin) if begin else entry.size)
            yield Member(entry.name, begin, reason, entry.size, entry.modified, entry.comment)
        else:
            yield Member(entry.name, stream.data(entry.size), modified=entry.modified, comment=entry.comment)


class _TarStream:
    """The bytes of an archive, in blocks.

    Attributes:
        inside: what is being read, for messages.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._offset = 0
        self.inside = "its first header"

    def next_header_block(self) -> bytes:
        """The next block; empty at the end of the archive."""
        block = self._file.read(_BLOCK)
        self.inside = f"the header at byte {self._offset}"
        if len(block) < _BLOCK:
            raise self.truncated_error(len(block))
        self._offset += _BLOCK
        if any(block):
            return block
        self._check_zero_end()
        return b""

    def _check_zero_end(self) -> None:
        """Reads the rest, which is zeros."""
        while rest := self._file.read(_STEP):
            if rest.count(0) < len(rest):
                raise DataError(
                    f"{self._name}: more follows behind the end of the archive, at or after byte {self._offset}: two"
                    " archives were joined, or it is damaged; pack their files into one"
                )
            self._offset += len(rest)

    def data(self, size: int) -> bytes:
        """The data of an entry; its padding is skipped."""
        data = self._file.read(size)
        if len(data) < size:
            raise self.truncated_error(len(data))
        self._offset += size
        self._pass_bytes(-size % _BLOCK)
        return data

    def skip_entry_data(self, size: int) -> None:
        """Reads the data of an entry, and keeps nothing."""
        self._pass_bytes(size + -size % _BLOCK)

    def _pass_bytes(self, size: int) -> None:
        left = size
        while left:
            seen = len(self._file.read(min(left, _STEP)))
            if not seen:
                raise self.truncated_error(0)
            self._offset += seen
            left -= seen

    def truncated_error(self, seen: int) -> DataError:
        """The error of an archive that ends too early."""
        return DataError(
            f"{self._name}: truncated: it ends at byte {self._offset + seen} (unpacked), in {self.inside}; acquire it"
            " again"
        )

    def damaged_header_error(self, why: str) -> DataError:
        """The error of a header that is not valid."""
        return DataError(f"{self._name}: not a valid tar archive: {self.inside}: {why}; acquire it again")


def _walk_entries(stream: _TarStream) -> Iterator[_Entry]:
    """The entries. The data of each is still to be read, or to be skipped, before the next is asked for."""
    shared: dict[str, str] = {}
    own: dict[str, str] = {}
    while block := stream.next_header_block():
        info = _parse_tar_header(block, stream)
        if info.type in _PAX:
            own = {**own, **_parse_pax_records(stream, info.size)}
        elif info.type == tarfile.XGLTYPE:
            shared = {**shared, **_parse_pax_records(stream, info.size)}
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            own = {**own, "path": _decode_tar_name(_extended_header_data(stream, info.size).rstrip(b"\0"))}
        elif info.type == tarfile.GNUTYPE_LONGLINK:
            _extended_header_data(stream, info.size)
        else:
            entry = _entry_from_headers(info, {**shared, **own}, stream)
            if info.type == tarfile.GNUTYPE_SPARSE:
                _skip_sparse_map(block, stream)
            stream.inside = f"entry {entry.name!r}"
            yield entry
            own = {}


def _parse_tar_header(block: bytes, stream: _TarStream) -> tarfile.TarInfo:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "backslashreplace")
    except tarfile.HeaderError as error:
        raise stream.damaged_header_error(str(error)) from error
    if info.size < 0:
        raise stream.damaged_header_error(f"an entry of {info.size} bytes")
    return info


def _entry_from_headers(info: tarfile.TarInfo, values: dict[str, str], stream: _TarStream) -> _Entry:
    """An entry, from its header and the values of the PAX headers before it."""
    name = strip_dot_slash(values.get("path", info.name))
    try:
        size = int(values["size"]) if "size" in values else info.size
        modified = float(values.get("mtime", info.mtime))
    except ValueError as error:
        raise stream.damaged_header_error(f"size or mtime is no number ({error})") from error
    if size < 0:
        raise stream.damaged_header_error(f"an entry of {size} bytes")
    kind = tarfile.DIRTYPE if info.type in _FILES and name.endswith("/") and not size else info.type
    refused = "" if kind in _FILES else _KINDS.get(kind, "unknown kind of entry")
    if any(key.startswith("GNU.sparse.") for key in values):
        refused = "sparse file"
    return _Entry(
        name=name,
        size=0 if info.type in _WITHOUT_DATA else size,
        kind=kind,
        refused=refused,
        modified=modified if math.isfinite(modified) else None,
        comment=values.get("comment", ""),
    )


def _extended_header_data(stream: _TarStream, size: int) -> bytes:
    """The data of a header that describes the next entry."""
    if size > _HEADER_LIMIT:
        raise stream.damaged_header_error(
            f"a PAX header or long name of {size} bytes, at most {_HEADER_LIMIT} are read"
        )
    return stream.data(size)


def _parse_pax_records(stream: _TarStream, size: int) -> dict[str, str]:
    what = "a record of its PAX header is malformed"
    found, _ = pax_records(
        _extended_header_data(stream, size), lambda at: stream.damaged_header_error(f"{what}, at byte {at} of it")
    )
    return {_decode_tar_name(key): _decode_tar_name(value) for key, value in found.items()}


def _decode_tar_name(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _skip_sparse_map(block: bytes, stream: _TarStream) -> None:
    """Skips the further blocks of a sparse file's map."""
    more = block[_IS_EXTENDED]
    while more:
        more = stream.data(_BLOCK)[_SPARSE_EXTENDED]
