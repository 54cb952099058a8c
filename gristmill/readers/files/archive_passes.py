"""Archives that are read more than once: first a few files that say something about the others, then all."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import TAR, ZIP, reject_desktop_files
from gristmill.readers.tar_archive import tar_members
from gristmill.readers.zip_archive import Member, MemberRules, read_zip_file_members
from gristmill.recipes.raw_object import RawObject


class ArchivePasses:
    """The plain bytes of an archive in a file that can seek: in memory up to 32 MiB, else in a temporary file.

    Use it in a `with` statement.

    Args:
        raw: the archive; the ending of its name tells the format.

    Raises:
        DataError: the name has no ending of an archive, or the archive is truncated or damaged.
    """

    def __init__(self, raw: RawObject) -> None:
        name = raw.path.lower()
        if not name.endswith((*TAR, *ZIP)):
            raise DataError(
                f"{raw.path}: not known as an archive; its name must end with one of {', '.join(TAR + ZIP)}"
            )
        self._raw, self._is_tar = raw, name.endswith(TAR)
        self._is_first = True
        self._file = raw.open(seekable=True, unpack=self._is_tar)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def members(
        self, accept: Callable[[str], bool], entry_limit: int | None = None, begin: int = 0
    ) -> Iterator[Member]:
        """The accepted files, in the order of the archive, from its beginning; see archive_members().

        Args:
            accept: whether to read the file of this name.
            entry_limit: largest file in unpacked bytes; None: the longest row of the source.
            begin: number of the first bytes that come with each larger file; a multiple of 512.
        """
        accept = reject_desktop_files(accept, self._raw if self._is_first else None)  # each file is counted once
        self._is_first = False
        rules = MemberRules(accept, self._raw.limits.row if entry_limit is None else entry_limit, None, begin=begin)
        self._file.seek(0)
        read = tar_members if self._is_tar else read_zip_file_members
        size = 0
        for number, member in enumerate(read(self._file, self._raw.path, rules), start=1):
            length = 0 if member.refused else len(member.raw)
            size += length
            self._raw.check_unpacked(size, number)
            self._raw.raw_span = RawSpan(0, length, member.name)
            yield member
