"""The beginning of a file: its packing, its first bytes, their encoding, and the files of an archive."""

import codecs
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gristmill.errors import DataError
from gristmill.peeking.packing import guess_packing, named_by_content, plain_head, unpacking_file
from gristmill.readers.zip_archive import BoundedDirectory
from gristmill.text.desktop_names import is_of_desktop

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb'^\s*<\?xml[^>]{0,200}encoding=["\']([A-Za-z0-9._-]+)["\']')
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CONTINUED = range(0x80, 0xA0)
"""Bytes that are letters in windows-1252 and control characters in ISO-8859-1."""
MEMBERS = 400
"""Files of an archive that are listed."""
READ = 40
"""Files of an archive whose first bytes are read."""
_MEMBER_HEAD = 64 << 10
_ARCHIVED = 64 << 20
"""Plain bytes of an archive that are passed at most."""


@dataclass(frozen=True)
class Inside:
    """A file of an archive: its name and its first bytes; None if they were not read."""

    name: str
    data: bytes | None


@dataclass(frozen=True)
class Head:
    """The beginning of a file.

    Attributes:
        path: path of the file.
        packing: gzip, bzip2, xz or zstandard, by its bytes; empty if it is plain.
        data: its first plain bytes.
        whole: whether they are all of it.
        archive: `.zip` or `.tar`, by its bytes; empty if it is not an archive.
        members: the first files of an archive.
        damage: reason why an archive could not be read further; empty if it could.
    """

    path: Path
    packing: str
    data: bytes
    whole: bool
    archive: str = ""
    members: tuple[Inside, ...] = ()
    damage: str = field(default="", compare=False)

    @cached_property
    def text_encoding(self) -> str:
        """The name of the text's encoding, as Python knows it; empty if the bytes are not text."""
        return guess_encoding(self.data)

    @cached_property
    def text(self) -> str:
        """The decoded bytes; empty if they are not text."""
        return decode_head(self.data, self.text_encoding) if self.text_encoding else ""

    @cached_property
    def lines(self) -> list[bytes]:
        """The first complete lines, at most a thousand; the last one of a whole file may lack its line feed."""
        lines = self.data.removeprefix(codecs.BOM_UTF8).split(b"\n")[:1001]
        if not self.whole or not lines[-1] or len(lines) > 1000:
            lines.pop()
        return lines

    @property
    def name(self) -> str:
        """The name under which readers understand the file."""
        return named_by_content(self.path.name, self.packing, self.archive)


def read_head(path: Path) -> Head:
    """Reads the beginning of a file.

    Returns:
        The first bytes of the file, and the first members of an archive.

    Raises:
        DataError: it cannot be read, or is not a regular file: reading a FIFO or a device may never end.
    """
    if path.exists() and not path.is_file():
        raise DataError(
            f"{path}: neither a regular file nor a folder; copy what it gives into a file, and look at that"
        )
    try:
        with path.open("rb") as file:
            packing = guess_packing(file.read(8))
        data, whole = plain_head(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}); give a file or a folder") from error
    archive = ".zip" if data.startswith((b"PK\x03\x04", b"PK\x05\x06")) and not packing else ""
    archive = archive or (".tar" if _is_tar(data) else "")
    members: list[Inside] = []
    damage = ""
    if archive:
        try:
            members.extend(_first_zip_entries(path) if archive == ".zip" else _first_tar_entries(path))
        except (
            tarfile.TarError,
            zipfile.BadZipFile,
            OSError,
            EOFError,
            ValueError,
            NotImplementedError,
            DataError,
        ) as error:
            damage = str(error) or type(error).__name__
    return Head(path, packing, data, whole, archive, tuple(members), damage)


def _is_tar(data: bytes) -> bool:
    """Whether the first block is a tar header: its checksum says so."""
    block = data[:512]
    if len(block) < 512 or not block.strip(b"\0"):
        return False
    try:
        return int(block[148:156].rstrip(b" \0").decode() or "x", 8) == sum(block) - sum(block[148:156]) + 8 * 32
    except ValueError:
        return False


def _first_tar_entries(path: Path) -> Iterator[Inside]:
    read = listed = 0
    with unpacking_file(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        for info in archive:
            if not info.isfile() or is_of_desktop(info.name):
                continue
            listed += 1
            opened = archive.extractfile(info) if read < READ else None
            yield Inside(info.name, opened.read(_MEMBER_HEAD) if opened else None)
            read += opened is not None
            if listed >= MEMBERS or info.offset > _ARCHIVED:
                return


def _first_zip_entries(path: Path) -> Iterator[Inside]:
    with path.open("rb") as file, zipfile.ZipFile(bounded := BoundedDirectory(file, path.name)) as archive:
        bounded.opened = True
        files = [info for info in archive.infolist() if not info.is_dir() and not is_of_desktop(info.filename)][
            :MEMBERS
        ]
        for number, info in enumerate(files):
            if number >= READ or info.flag_bits & 1:
                yield Inside(info.filename, None)
                continue
            with archive.open(info) as member:
                yield Inside(info.filename, member.read(_MEMBER_HEAD))


def guess_encoding(data: bytes) -> str:
    r"""The encoding of a text's first bytes; empty if they are not text. They may end inside a character.

    >>> [guess_encoding(each) for each in (b"caf\xc3\xa9", b"caf\xe9.", b"\xff\xfeh\x00", b"\x00\x01\x02")]
    ['utf-8', 'iso-8859-1', 'utf-16', '']
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    wide = _guess_utf16_order(data)
    if wide or _CONTROLS.search(data):
        return wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        declared = _DECLARED.match(data)
        if declared:
            return declared[1].decode().lower()
        return "windows-1252" if any(byte in _CONTINUED for byte in data) else "iso-8859-1"
    return "utf-8"


def _guess_utf16_order(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of a text in Latin letters is zero."""
    sample = data[:4096]
    pairs = len(sample) // 2
    for begin, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = sample[begin : 2 * pairs : 2].count(0)
        others = sample[1 - begin : 2 * pairs : 2].count(0)
        if pairs > 4 and zeros > 0.6 * pairs and others == 0:
            return name
    return ""


def decode_head(data: bytes, encoding: str) -> str:
    """The text of the first bytes; a character that is cut off at their end is left out."""
    try:
        return codecs.getincrementaldecoder(encoding)("replace").decode(data)
    except LookupError:
        return data.decode("latin-1")
