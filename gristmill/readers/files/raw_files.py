"""Reads raw objects whose unit is a file: archives of files, and single files of a folder tree, packed or not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import archive_members, is_archive, refused_member
from gristmill.readers.text import Unfit
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import TOO_LONG, Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

PACKED = (".gz", ".zst", ".zstd", ".bz2", ".xz")
"""The endings of single packed files, which are unpacked."""
OTHERS = "not among the wanted members"
"""The reason for files of an archive that a recipe does not want."""
_STEP = 1 << 20


def raw_files(raw: RawObject, accept: Callable[[str], bool]) -> Iterator[Member]:
    """The files of a raw object: the accepted members of an archive, else the object itself, unpacked.

    Before it yields a file, it sets `raw.raw_span` to all its bytes.

    Args:
        raw: the raw object.
        accept: whether to read the file of this name. A raw object that is not an archive is always read: its source
            selects it.

    Raises:
        DataError: see archive_members(); or a single file is truncated or not packed as its name says.
    """
    if is_archive(raw.path):
        yield from archive_members(raw, accept)
        return
    data = bytearray()
    with raw.open(unpack=True) as file:
        while len(data) <= raw.limits.row and (piece := file.read(_STEP)):
            data += piece
    name = raw.name
    for end in PACKED:
        name = name.removesuffix(end)
    if len(data) > raw.limits.row:
        yield Member(name, bytes(data[:_STEP]), TOO_LONG, len(data))
        return
    raw.raw_span = RawSpan(0, len(data))
    yield Member(name, bytes(data))


@dataclass(frozen=True, kw_only=True)
class FileDocuments(Reader):
    """A reader whose unit is a file. A subclass says which files it reads, and makes documents of each.

    Attributes:
        source: name of the source, which is the source of every document.
    """

    source: str

    def __post_init__(self) -> None:
        check_types(self, f"{type(self).__name__} of source {self.source!r}")

    def wants(self, name: str) -> bool:  # noqa: ARG002 - subclasses decide by it
        """Whether to read the file of this name in an archive."""
        return True

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:
        """The documents of one file.

        Args:
            file: its name and its bytes.
            raw: the raw object that holds it.

        Raises:
            Unfit: the file cannot become a document; it is refused with the error's reason.
        """
        raise NotImplementedError

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields the documents of each file, and counts files that are not wanted.

        See gristmill.recipes.source.Source.convert.
        """
        others = 0

        def accept(name: str) -> bool:
            nonlocal others
            accepted = self.wants(name)
            others += not accepted
            return accepted

        for file in raw_files(raw, accept):
            if file.refused:
                yield refused_member(raw, file)
                continue
            try:
                yield from self.documents(file, raw)
            except Unfit as unfit:
                yield refused_file(raw, file, unfit)
        if others:
            yield LeftOut(OTHERS, others)


def refused_file(raw: RawObject, file: Member, unfit: Unfit) -> Refused:
    """The row of the quarantine for a file that cannot become a document.

    Args:
        raw: the raw object that holds it.
        file: its name and its bytes.
        unfit: error with the reason.
    """
    member = file.name if is_archive(raw.path) else ""
    where = f"{raw.name} entry {member}" if member else raw.name
    where = f"{where} ({unfit.detail})" if unfit.detail else where
    return Refused(unfit.reason, where, file.raw, offset=0, member=member)
