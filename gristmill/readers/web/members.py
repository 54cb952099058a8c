"""The plain bytes of a WARC file, member by member. A crawl packs each record as a gzip member of its own.

So a damaged record can be told from the others: the next member that begins a record is found by its first bytes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from isal import igzip_lib

from gristmill.errors import DataError
from gristmill.lake.rows.shard_file import unpack_pieces

MAGIC = b"WARC/"
"""The first bytes of each record."""
_GZIP = b"\x1f\x8b\x08"
_ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18")
_STEP = 64 << 10
_FIRST_STEP = 8 << 10  # most members are small, and what is behind a member is copied
_PLAIN_STEP = 1 << 20
_PROBE = 4 << 10  # packed bytes that are enough to see the first plain ones
_KEPT = 32 << 20
_TRIM = 4 << 20


class Damaged(Exception):  # noqa: N818 - the tree reads as English
    """Bytes of a member that cannot be unpacked. The message says why."""


class Gap(NamedTuple):
    """Packed bytes that were passed over because they are damaged.

    Attributes:
        start: the first byte in the file.
        end: the byte after the last one, where the next record begins.
        head: the first bytes, for the quarantine.
    """

    start: int
    end: int
    head: bytes


class Members(Protocol):
    """A file's plain bytes in members.

    Attributes:
        offset: offset of the current member in the file.
    """

    offset: int

    def piece(self) -> bytes:
        """The next plain bytes of the current member; empty at its end.

        Raises:
            Damaged: they cannot be unpacked.
        """

    def next_member(self) -> bool:
        """Goes to the next member. Returns whether there is one. The current member must be at its end."""

    def recover(self) -> Gap | None:
        """Goes to the next member that begins a record, after damage.

        Returns:
            The bytes that were passed over; None if no such member follows, or if the file is not packed in members.
        """


class PlainFile:
    """A file that is not packed, or is packed as a whole: one member."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.offset = 0
        self._pieces = iter(pieces)

    def piece(self) -> bytes:
        return next((piece for piece in self._pieces if piece), b"")

    def next_member(self) -> bool:
        return False

    def recover(self) -> Gap | None:
        return None


class GzipFile:
    """The members of a gzip file.

    Args:
        pieces: the packed bytes.

    Attributes:
        offset: offset of the current member in the file.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.offset = 0
        self._pieces = iter(pieces)
        self._held = bytearray()  # packed bytes; those from _begin on are of the current member or behind it
        self._first = 0  # place of _held[0] in the file
        self._begin = self._at = 0
        self._member = _open_member()

    def piece(self) -> bytes:
        member = self._member
        try:
            while not member.eof:
                if not member.needs_input:
                    plain = member.decompress(b"", _PLAIN_STEP)
                elif self._at < len(self._held) or self._read_more():
                    step = _STEP if self._at > self._begin else _FIRST_STEP
                    packed = bytes(self._held[self._at : self._at + step])
                    self._at += len(packed)
                    plain = member.decompress(packed, _PLAIN_STEP)
                else:
                    raise Damaged("the file ends in the middle of it")
                if self._member.eof:
                    self._at -= len(member.unused_data)
                if plain:
                    return bytes(plain)
        except (igzip_lib.IsalError, EOFError, ValueError) as error:  # type: ignore[misc]  # no stub
            raise Damaged(f"not valid gzip: {error}") from error
        return b""

    def next_member(self) -> bool:
        """Goes to the next member. Returns whether there is one; see Members. Zero bytes after the last member are
        padding.
        """
        self._forget_bytes_until(self._at)
        while self._at < len(self._held) or self._read_more():
            if self._held[self._at]:
                self._start_member(self._at)
                return True
            self._forget_bytes_until(self._at + 1)
        return False

    def recover(self) -> Gap | None:
        """The gap up to the next record; see Members. Of a member of more than 32 MiB, only the end is searched."""
        start, head, at = self.offset, bytes(self._held[self._begin : self._begin + _STEP]), self._begin + 1
        while True:
            found = self._held.find(_GZIP, at)
            while found < 0:
                self._forget_bytes_until(max(len(self._held) - len(_GZIP) + 1, self._begin))
                at = self._begin
                if not self._read_more():
                    return None
                found = self._held.find(_GZIP, at)
            place = self._first + found
            while len(self._held) - found < _PROBE and self._read_more():
                found = place - self._first
            if _begins_record(bytes(self._held[found : found + _PROBE])):
                self._forget_bytes_until(found)
                self._start_member(self._begin)
                return Gap(start, place, head)
            at = found + 1

    def _start_member(self, at: int) -> None:
        self._begin = self._at = at
        self.offset = self._first + at
        self._member = _open_member()

    def _forget_bytes_until(self, until: int) -> None:
        """Lets packed bytes go that are not needed for finding the next member."""
        self._begin = self._at = until
        if until > _TRIM:
            self._drop_bytes_until(until)

    def _drop_bytes_until(self, until: int) -> None:
        del self._held[:until]
        self._first += until
        self._begin = max(self._begin - until, 0)
        self._at -= until

    def _read_more(self) -> bool:
        """Reads more packed bytes; False at the end of the file."""
        piece = next((piece for piece in self._pieces if piece), b"")
        if len(self._held) - self._begin > _KEPT and self._at > self._begin:
            self._drop_bytes_until(self._at)
        self._held += piece
        return bool(piece)


def _open_member() -> igzip_lib.IgzipDecompressor:
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def _begins_record(packed: bytes) -> bool:
    """Whether packed bytes begin a member that begins a record."""
    try:
        plain = _open_member().decompress(packed, len(MAGIC))
    except (igzip_lib.IsalError, EOFError, ValueError):  # type: ignore[misc]  # no stub
        return False
    return bytes(plain) == MAGIC


def open_warc_members(pieces: Iterable[bytes], path: str) -> Members:
    """The members of a WARC file. Its first bytes tell how it is packed, whatever its name says.

    Args:
        pieces: the bytes of the file.
        path: path of the file, for messages.

    Raises:
        DataError: it is neither a WARC file nor a packed file, or is packed with a dictionary.
    """
    rest = iter(pieces)
    head = b""
    while len(head) < len(MAGIC):
        piece = next(rest, None)
        if piece is None:
            break
        head += piece
    if head.startswith(_GZIP[:2]):
        return GzipFile(_head_then_rest(head, rest))
    if head.startswith(_ZSTD[1]):
        raise DataError(f"{path}: packed by zstd with a dictionary, which is not supported; pack it again as .warc.gz")
    if head.startswith(_ZSTD[0]):
        return PlainFile(unpack_pieces(_head_then_rest(head, rest), f"{path}.zst"))
    if head.startswith(MAGIC):
        return PlainFile(_head_then_rest(head, rest))
    what = "is empty" if not head else f"begins with {head[:8]!r}"
    raise DataError(f"{path}: not a WARC file: it {what}; acquire it again, or let `select` leave it out")


def _head_then_rest(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest
