"""The lines of a part of an object, packed or not.

A part has the lines that begin behind its first byte, up to the one that begins exactly at its end. So it leaves out
everything up to the first line feed, and reads on to the first line feed behind its end. A packed object is cut at its
units (see readers/parts/units.py): such a part begins at the first gzip member, for instance, that begins in it.
"""

from collections.abc import Iterator

from gristmill.lake.rows.raw_parts import Edge, RawPart
from gristmill.readers.parts.units import cut_by, units
from gristmill.recipes.raw_object import RawObject


class PartLines:
    """The plain bytes of the lines of a part.

    Args:
        raw: the object; its part is read, and its edges are set.
        part: part of the object.

    Attributes:
        skipped: the plain bytes between the part's first unit and its first line. Known when the first piece comes.
        start: offset of the first line in bytes: counted from the first unit; or from the first byte of an object that
            is not packed.
    """

    def __init__(self, raw: RawObject, part: RawPart) -> None:
        self._raw, self._part = raw, part
        self.skipped = 0

    @property
    def start(self) -> int:
        """The place where the first line begins; see the attributes."""
        return self.skipped + (self._part.start if cut_by(self._raw.path) == "lines" else 0)

    def pieces(self) -> Iterator[bytes]:
        """The bytes, in pieces cut anywhere.

        Raises:
            DataError: the object is truncated or damaged, or is not packed as its name says.
        """
        first: int | None = None
        behind: int | None = None  # the first unit behind the part
        beyond = 0
        skipping, plain = self._part.start > 0, 0
        self._raw.edges = (None, None)
        for each in units(self._raw, self._part):
            if isinstance(each, int):
                first = each if first is None else first
                behind = each if behind is None and each >= self._part.end else behind
                continue
            plain += len(each)
            self._raw.check_unpacked(plain)
            feed = each.find(b"\n") + 1 if skipping or behind is not None else 0
            taken = feed or len(each)
            if skipping:
                self.skipped += taken
                skipping = not feed
                if behind is None and feed and feed < len(each):
                    yield each[feed:]
            else:
                yield each[:taken]
            beyond += taken if behind is not None else 0
            if behind is not None and feed:
                break
        if first is not None:
            last = Edge(self._raw.size) if behind is None else Edge(behind, beyond)
            self._raw.edges = (Edge(first, self.skipped), last)
