"""The lines of list files: of a file, of a folder of files, and of a tar archive of them."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gristmill.errors import RecipeError

LONGEST_LINE = 65_536
"""Bytes of the longest line of a list."""

LARGEST = 4 << 30
"""Bytes of all files of a list, unpacked: forty times UT1. A small archive may hold far more."""

_GZIP = b"\x1f\x8b"
_TAR = b"ustar"  # from byte 257 on
_UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError)


@dataclass(frozen=True)
class ListFile:
    """A file of a list.

    Attributes:
        name: its path below the folder or in the archive; its own name if it is alone.
        shown: its path, for errors.
        bytes_: its bytes, unpacked.
        most: largest size of the file in bytes.
    """

    name: str
    shown: str
    bytes_: IO[bytes]
    most: int = LARGEST

    def lines(self) -> Iterator[str]:
        """All lines without white space around them; a byte order mark is left out.

        Raises:
            RecipeError: a line is not UTF-8, holds a NUL, or has more than 65,536 bytes; or the list is too large.
        """
        read = 0
        for number, line in enumerate(iter(self._read_line, b""), 1):
            where = f"{self.shown}:{number}"
            read += len(line)
            if read > self.most:
                raise RecipeError(f"{where}: the list has more than {LARGEST:,} bytes, unpacked; divide it")
            if len(line) > LONGEST_LINE:
                raise RecipeError(f"{where}: the line has more than {LONGEST_LINE:,} bytes; is this a list?")
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise RecipeError(f"{where}: byte {error.start + 1} is not UTF-8; save the list as UTF-8") from error
            if "\0" in text:
                raise RecipeError(f"{where}: the line has a NUL; save the list as UTF-8")
            yield text.removeprefix("\ufeff").strip()

    def _read_line(self) -> bytes:
        try:
            return self.bytes_.readline(LONGEST_LINE + 1)
        except _UNREADABLE as error:
            raise _unreadable_list_error(self.shown, error) from error


def list_files(path: Path) -> Iterator[ListFile]:
    """The files of a list in the order of names. Read each before the next; memory does not grow with the list.

    Args:
        path: a text file in UTF-8, a folder of such files, or a tar archive of them; any of the files may be gzipped.
            Names that begin with a dot are passed over, and LICENSE, README, JSON, HTML and SVG files.

    Raises:
        RecipeError: the list cannot be read, or has no file.
    """
    try:
        files = read = 0
        for name, file in _list_file_streams(path):
            files += 1
            listed = ListFile(name, str(path) if name == path.name else f"{path}: {name}", file, LARGEST - read)
            yield listed
            read += file.tell()
    except _UNREADABLE as error:
        raise _unreadable_list_error(str(path), error) from error
    if not files:
        raise RecipeError(f"list {path} has no files; bring a text file, a folder of them or a tar archive")


def _list_file_streams(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if path.is_dir():
        for each in sorted(each for each in path.rglob("*") if each.is_file() and _is_list(each.relative_to(path))):
            with each.open("rb") as file:
                yield each.relative_to(path).as_posix(), _unpack_list_file(file)
        return
    with path.open("rb") as file:
        opened = _unpack_list_file(file)
        if opened.peek(512)[257:262] != _TAR:
            yield path.name, opened
            return
        with tarfile.open(fileobj=opened, mode="r:") as archive:
            for member in archive:
                inner = archive.extractfile(member) if member.isfile() and _is_list(Path(member.name)) else None
                if inner is not None:
                    yield member.name, _unpack_list_file(inner)


def _unreadable_list_error(shown: str, error: Exception) -> RecipeError:
    return RecipeError(f"list {shown} cannot be read ({error}); bring it again")


def _is_list(path: Path) -> bool:
    if path.suffix in {".json", ".html", ".svg"}:  # the lake keeps them with a model's files
        return False
    return path.stem.upper() not in {"LICENSE", "README"} and not any(part[:1] == "." for part in path.parts)


def _unpack_list_file(file: Any) -> Any:
    """A binary file that has `peek`, as the one given has."""
    return gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file
