"""The gzip members of a part of a WARC file. A crawl packs each record as a member, so a part holds whole records."""

from collections.abc import Iterator
from typing import TypeVar

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import Edge, RawPart
from gristmill.readers.parts.units import first_gzip
from gristmill.readers.web.members import Gap, Members, open_warc_members
from gristmill.recipes.raw_object import RawObject


def gzip_members(name: str) -> str:
    """The units at which a WARC file of this name is cut; empty if it is not packed by gzip.

    >>> [gzip_members(name) for name in ("a.warc.gz", "a.warc", "a.warc.zst")]
    ['gzip members', '', '']
    """
    return "gzip members" if name.lower().endswith(".gz") else ""


def members_of_part(raw: RawObject) -> Members:
    """The members of a file, or of its part."""
    return PartMembers(raw, raw.part) if raw.part else open_warc_members(raw.chunks(), raw.path)


T = TypeVar("T")


def told_of_part(records: Iterator[T], raw: RawObject) -> Iterator[T]:
    """The same records. Of a part, an error also says that the file may be sound, but cannot be cut.

    Args:
        records: records of the file, or of its part.
        raw: the file.

    Raises:
        DataError: the records raised it.
    """
    try:
        yield from records
    except DataError as error:
        if raw.part is None:
            raise
        raise DataError(
            f"{error}; or, if the file is sound, its records are not members of their own: give its source"
            " shards=OneToOne()"
        ) from error


class PartMembers:
    """The members that begin in a part, as Members of a file that ends behind them. The edges of the part are set.

    Args:
        raw: the file.
        part: part of the file.
    """

    def __init__(self, raw: RawObject, part: RawPart) -> None:
        self._raw, self._part = raw, part
        found = first_gzip(raw, part)
        self._over = found is None
        self._base, pieces = found or (raw.size, iter([b"WARC/"]))
        self._inner = open_warc_members(pieces, raw.path)
        self.offset = self._base
        raw.edges = (None, None)

    def piece(self) -> bytes:
        return b"" if self._over else self._inner.piece()

    def next_member(self) -> bool:
        if self._over:
            return False
        if not self._inner.next_member():
            self._end_part(self._raw.size)
            return False
        return self._goes_on()

    def recover(self) -> Gap | None:
        gap = None if self._over else self._inner.recover()
        if gap is None:
            return None
        self._goes_on()
        return gap._replace(start=self._base + gap.start, end=self._base + gap.end)

    def _goes_on(self) -> bool:
        self.offset = self._base + self._inner.offset
        if self.offset >= self._part.end:
            self._end_part(self.offset)
        return not self._over

    def _end_part(self, at: int) -> None:
        self._over = True
        self._raw.edges = (Edge(self._base), Edge(at))
