"""The pages of a part of a MediaWiki dump, as a dump of their own.

A part has the pages whose `<page>` begins in its units (see readers/parts/units.py), and reads on to the next page
behind its end. The description of the wiki is at the begin of the dump; it is put in front of each part.
"""

from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import Edge, RawPart
from gristmill.lake.rows.unpacking import unpack_gzip, unpack_zstandard
from gristmill.readers.parts.bzip2 import bz2_units
from gristmill.readers.parts.units import Unit, cut_by, units
from gristmill.recipes.raw_object import RawObject

_PAGE, _SITE, _CLOSE = b"<page>", b"</siteinfo>", b"</mediawiki>\n"
_KEPT = len(_PAGE) - 1
_HEAD = 4 << 20
"""Bytes, packed or not, in which the description of the wiki ends."""


class _Text:
    """The plain bytes from the first unit of a part on.

    Attributes:
        held: those that were read and not taken.
        at: where these begin.
        first: the first unit.
        behind: the first unit behind the part; None until it is reached.
        cut: where it begins in the plain bytes.
    """

    def __init__(self, found: Iterator[Unit], end: int) -> None:
        self._units, self._end = found, end
        self.held, self.at = b"", 0
        self.first: int | None = None
        self.behind: int | None = None
        self.cut = -1

    def more(self) -> bool:
        """Reads on; False at the end of the object."""
        for each in self._units:
            if isinstance(each, bytes):
                self.held += each
                return True
            self.first = each if self.first is None else self.first
            if self.behind is None and each >= self._end:
                self.behind, self.cut = each, self.at + len(self.held)
        return False

    def take_bytes(self, count: int) -> bytes:
        """The next bytes, which are held."""
        taken, self.held = self.held[:count], self.held[count:]
        self.at += len(taken)
        return taken

    def find_page(self) -> bool:
        """Goes to the first page. Without one it goes to the end of the object, and returns False."""
        while True:
            place = self.held.find(_PAGE)
            self.take_bytes(place if place >= 0 else max(len(self.held) - _KEPT, 0))
            if place >= 0:
                return True
            if not self.more():
                self.take_bytes(len(self.held))
                return False

    def own(self) -> Iterator[bytes]:
        """The bytes up to the first page that begins behind the part, or up to the end of the object."""
        while True:
            kept = 0
            if self.behind is not None:
                place = self.held.find(_PAGE, max(self.cut - self.at, 0))
                if place >= 0:
                    yield self.take_bytes(place)
                    return
                kept = _KEPT
            yield self.take_bytes(max(len(self.held) - kept, 0))
            if not self.more():
                yield self.take_bytes(len(self.held))
                return


class PartPages:
    """The plain bytes of the pages of a part.

    Args:
        raw: the dump; its part is read, and its edges are set.
        part: part of the dump.

    Attributes:
        shift: number of bytes to add to an offset in these bytes. For a packed object the sum is an offset in what it
            unpacks to from the part's first unit on, otherwise in the object. Known when the first page comes.
    """

    def __init__(self, raw: RawObject, part: RawPart) -> None:
        self._raw, self._part = raw, part
        self.shift = 0

    def pieces(self) -> Iterator[bytes]:
        """The bytes, in pieces of at most a few MiB.

        Raises:
            DataError: the dump is truncated or damaged, or is not packed as its name says.
        """
        raw, part = self._raw, self._part
        head = read_wiki_head(raw)
        raw.edges = (None, None)
        if head is None:  # UTF-16, or no dump: the first part has all
            if not part.start:
                raw.edges = (Edge(0), Edge(raw.size))
                yield from (each for each in units(raw, part) if isinstance(each, bytes))
            else:
                yield b"<mediawiki/>"
            return
        if part.start:
            yield head
        text = _Text(units(raw, part), part.end)
        found, skipped = True, 0
        if part.start:
            found, skipped = text.find_page(), text.at
            self.shift = skipped - len(head) + (part.start if cut_by(raw.path) == "lines" else 0)
        if found and (text.behind is None or text.at < text.cut):
            seen = 0
            for piece in text.own():
                seen += len(piece)
                raw.check_unpacked(seen)
                yield piece
            found = bool(text.held)
        if text.first is not None:
            last = Edge(raw.size) if text.behind is None else Edge(text.behind, text.at - text.cut)
            raw.edges = (Edge(text.first, skipped), last)
        if found or (part.start and text.at == skipped):
            yield _CLOSE


def read_wiki_head(raw: RawObject) -> bytes | None:
    """The begin of a dump, which describes its wiki: its bytes up to the first page; None if no page is found.

    Args:
        raw: the dump, of which no more than 4 MiB are read.

    Raises:
        DataError: the dump is damaged, or is not packed as its name says.
    """
    packed, path = raw.read_at(0, min(raw.size, _HEAD)), raw.path.lower()
    if path.endswith(".bz2"):
        plain: Iterator[Unit] = bz2_units(iter([packed]), raw.path, RawPart(0, raw.size))
    elif path.endswith(".gz"):
        plain = unpack_gzip(iter([packed]), raw.path)
    else:
        plain = unpack_zstandard(iter([packed]), raw.path) if path.endswith((".zst", ".zstd")) else iter([packed])
    head = b""
    try:
        for piece in plain:
            head += piece if isinstance(piece, bytes) else b""
            for end in (head.find(_SITE), head.find(_PAGE) - len(_SITE)):
                if end >= 0:
                    return head[: end + len(_SITE)]
            if len(head) > _HEAD:
                return None
    except DataError:
        if raw.size <= _HEAD:
            raise
    return None
