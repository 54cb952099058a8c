"""The headers of a tar's members, read in windows and checked many at a time.

The chain from header to header is followed in Python. The checksums of all headers of a window are checked together.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.formats.tar.extended_headers import Extended, damaged_header_error, decode_tar_name
from gristmill.formats.tar.header_sums import check_header_sums
from gristmill.formats.tar.keys import split_name
from gristmill.formats.tar.tar_bytes import BLOCK, RangeReader, TarBytes

_ZEROS = bytes(BLOCK)
_NO_BLOCKS = np.empty((0, BLOCK), dtype=np.uint8)
_SMALLEST, _LARGEST = 1 << 16, 1 << 20
_LONGEST_EXTENSION = 1 << 20
_FEW = 16
"""Members of a window; with fewer of them the next window is smaller, because contents need not be read."""
_SIZE, _KIND, _MAGIC, _PREFIX = 124, 156, 257, 345  # places of fields in a header
_FILE, _USTAR = ord("0"), ord("u")
_FILES: Final = frozenset({b"0", b"\0", b"7", b"S"})
_EXTENSIONS: Final = frozenset({b"x", b"X", b"g", b"L", b"K"})
_SPARSE, _FOLDER = b"S", b"5"
_WITHOUT_CONTENT: Final = {
    b"1": "link",
    b"2": "link",
    b"3": "device or FIFO",
    b"4": "device or FIFO",
    b"5": "folder",
    b"6": "device or FIFO",
}
_IS_EXTENDED, _SPARSE_EXTENDED = 482, 504  # the bytes that say whether another block of a sparse file's map follows


class TarMembers(NamedTuple):
    """Consecutive members of a tar, in columns.

    Attributes:
        starts: offset of each member's first header: an extended one if it has one, else its own.
        offsets: offsets of their contents.
        sizes: sizes of their contents, in bytes.
        names: names of the members.
        ignored: reason why a member is no part of a sample, by its place in the columns; regular files are not in it.
    """

    starts: list[int]
    offsets: list[int]
    sizes: list[int]
    names: list[str]
    ignored: dict[int, str]


class TarHeaders:
    """The members of a tar, a window at a time. See TarWalk for the arguments and the errors.

    Attributes:
        end: offset of the first block of zeros; 0 before it is reached.
    """

    def __init__(self, read: RangeReader, size: int, name: str) -> None:
        self._tar = TarBytes(read, size, name)
        self.end = 0

    def __iter__(self) -> Iterator[TarMembers]:
        self._tar.check_plain()
        offset, window, ended = 0, _LARGEST, False
        while not ended:
            run = _Run(self._tar, offset, self._tar.read(offset, window))
            offset = run.follow_header_chain()
            ended = run.ended
            members = run.window_members()
            window = max(window // 2, _SMALLEST) if len(members.names) < _FEW else min(window * 2, _LARGEST)
            if members.names:
                yield members
        self.end = offset


def file_at_offset(read: RangeReader, size: int, name: str, span: tuple[int, int]) -> tuple[str, int] | None:
    """The name and the size in bytes of the regular file whose content begins at an offset; None if none does.

    Args:
        read: function that gives bytes of the tar.
        size: size of the tar in bytes.
        name: name of the tar, for messages.
        span: offset of a header, and the offset of the content: the headers between them are read.

    Raises:
        DataError: there is no valid header at one of these places.
    """
    tar = TarBytes(read, size, name)
    place, content = span
    while place < content:
        run = _Run(tar, place, tar.read(place, min(content - place, _LARGEST)))
        place = run.follow_header_chain()
        members = run.window_members()
        if content in members.offsets:
            number = members.offsets.index(content)
            return None if number in members.ignored else (members.names[number], members.sizes[number])
        if run.ended:
            break
    return None


class _Run:
    """The chain of headers within one window.

    Args:
        tar: reads what is not in the window.
        base: offset of the window in the tar.
        data: the window.

    Attributes:
        ended: whether the end of the archive was reached.
    """

    def __init__(self, tar: TarBytes, base: int, data: bytes) -> None:
        self._tar, self._base, self._data = tar, base, data
        self._headers: list[int] = []
        self._members: list[int] = []
        self._starts: list[int] = []
        self._offsets: list[int] = []
        self._sizes: list[int] = []
        self._names: dict[int, str] = {}
        self._ignored: dict[int, str] = {}
        self._checked = _NO_BLOCKS
        self.ended = False

    def follow_header_chain(self) -> int:
        """Follows the chain to the end of the window, and gives the offset of the next header."""
        try:
            place = self._follow_in_window()
        except DataError:
            self._check_sums()  # a damaged header in front of this place is the cause
            raise
        self._check_sums()
        return place + self._base

    def _follow_in_window(self) -> int:
        """Places are those in the window. The usual header is a regular file's of ustar or GNU, with a short name."""
        data, length, place = self._data, len(self._data), 0
        headers, members, starts, offsets, sizes = (
            self._headers, self._members, self._starts, self._offsets, self._sizes
        )  # fmt: skip
        while place + BLOCK <= length or not place:
            digits = data[place + _SIZE : place + _SIZE + 11]
            if (
                place + BLOCK <= length
                and data[place + _KIND] == _FILE
                and digits.isdigit()
                and not data[place + _SIZE + 11] & ~32
                and data[place + _MAGIC] == _USTAR
                and not data[place + _PREFIX]
            ):
                headers.append(place)
                members.append(place)
                starts.append(place)
                try:
                    size = int(digits, 8)
                except ValueError:
                    raise self._not_octal(place) from None
                sizes.append(size)
                place += BLOCK
                offsets.append(place)
                place += (size + 511) & ~511
            else:
                place = self._take_unusual_member(place)
                if self.ended:
                    break
        if place + self._base > self._tar.size:
            raise self._tar.truncated_error(
                f"the content of the member whose header is at byte {self._base + members[-1]}"
            )
        return place

    def _not_octal(self, place: int) -> DataError:
        return damaged_header_error(self._tar.name, place + self._base, "a number in it is not octal")

    def _take_unusual_member(self, place: int) -> int:
        """Takes a member with extended headers, or one that is no regular file; or comes to the end."""
        first, values = place, Extended()
        while True:
            block = self._read_noted_header(place)
            if block == _ZEROS:
                if first != place:
                    raise damaged_header_error(
                        self._tar.name, first + self._base, "it describes a member that does not follow"
                    )
                self._tar.check_end(place + self._base)
                self.ended = True
                return place
            kind = block[_KIND : _KIND + 1]
            if kind not in _EXTENSIONS:
                return self._take_extended_member(block, place, values)
            size = self._size_in_header(block, place)
            if size > _LONGEST_EXTENSION:
                raise damaged_header_error(self._tar.name, place + self._base, f"an extended header of {size} bytes")
            content = self._read_bytes(place + BLOCK, size, f"the extended header at byte {place + self._base}")
            values.add(kind, content, self._tar.name, place + self._base)
            if kind != b"g" and values.start is None:
                values.start = place
            place += BLOCK + size + -size % BLOCK

    def _take_extended_member(self, block: bytes, place: int, values: Extended) -> int:
        """Takes a member with what its extended headers say, and gives the place behind its content."""
        kind = block[_KIND : _KIND + 1]
        name = values.name if values.name is not None else self._own_name(block, place)
        if kind == b"\0" and name.endswith("/"):
            kind = _FOLDER
        ignored = _WITHOUT_CONTENT.get(kind) or ("" if kind in _FILES else "unknown kind of member")
        size = values.size if values.size is not None else self._size_in_header(block, place)
        content = place + BLOCK
        if kind == _SPARSE:
            content = self._behind_map(block, content)
        if kind == _SPARSE or values.sparse:
            if split_name(name) is not None:
                raise DataError(
                    f"{self._tar.name}: member {name!r:.200} (header at byte {place + self._base}) is a sparse file,"
                    " which cannot be read at an offset; pack it again without --sparse"
                )
            ignored = "sparse file"
        number = len(self._members)
        self._members.append(place)
        self._starts.append(place if values.start is None else values.start)
        self._offsets.append(content)
        self._sizes.append(size)
        self._names[number] = name
        if ignored:
            self._ignored[number] = ignored
        return content if kind in _WITHOUT_CONTENT else content + size + -size % BLOCK

    def _own_name(self, block: bytes, place: int) -> str:
        """The name in a member's own header."""
        name, prefix = (part.partition(b"\0")[0] for part in (block[:100], block[_PREFIX:500]))
        raw = prefix + b"/" + name if prefix and block[_KIND : _KIND + 1] != _SPARSE else name
        return decode_tar_name(raw, self._tar.name, place + self._base)

    def _behind_map(self, block: bytes, place: int) -> int:
        """The place behind the further blocks of a sparse file's map."""
        more = block[_IS_EXTENDED]
        while more:
            more = self._read_bytes(place, BLOCK, "the map of a sparse file")[_SPARSE_EXTENDED]
            place += BLOCK
        return place

    def _size_in_header(self, block: bytes, place: int) -> int:
        """The size in a header: octal digits with white space around them, or a number of base 256."""
        field = block[_SIZE : _SIZE + 12]
        if field[0] == 0x80:
            return int.from_bytes(field[1:], "big")
        digits = field.partition(b"\0")[0].strip()
        if digits and not digits.isdigit():
            raise damaged_header_error(self._tar.name, place + self._base, f"its size is {digits!r}")
        try:
            return int(digits or b"0", 8)
        except ValueError:
            raise self._not_octal(place) from None

    def _read_noted_header(self, place: int) -> bytes:
        """A header, which is noted for the check of its sum."""
        if place + self._base >= self._tar.size:
            raise self._tar.without_end()
        block = self._read_bytes(place, BLOCK, f"the header at byte {place + self._base}")
        if block == _ZEROS:
            return block
        if place + BLOCK <= len(self._data):
            self._headers.append(place)
        else:
            check_header_sums(
                self._tar.name, np.frombuffer(block, dtype=np.uint8).reshape(1, BLOCK), [place + self._base]
            )
        return block

    def _read_bytes(self, place: int, length: int, inside: str) -> bytes:
        """Bytes of the window, or of the tar if the window ends before."""
        if place + length <= len(self._data):
            return self._data[place : place + length]
        return self._tar.bytes_at(place + self._base, length, inside)

    def _header_blocks(self, places: list[int]) -> NDArray[np.uint8]:
        """The headers at these places of the window, n x 512."""
        whole = np.frombuffer(self._data, dtype=np.uint8, count=len(self._data) // BLOCK * BLOCK)
        return whole.reshape(-1, BLOCK)[np.array(places, dtype=np.int64) // BLOCK]

    def _check_sums(self) -> None:
        if self._headers:
            self._checked = self._header_blocks(self._headers)
            check_header_sums(self._tar.name, self._checked, [place + self._base for place in self._headers])

    def window_members(self) -> TarMembers:
        """The members of this window."""
        return TarMembers(
            starts=[place + self._base for place in self._starts],
            offsets=[place + self._base for place in self._offsets],
            sizes=self._sizes,
            names=self._all_names(),
            ignored=self._ignored,
        )

    def _all_names(self) -> list[str]:
        """The names of the members; those of usual headers are decoded together."""
        usual = [place for number, place in enumerate(self._members) if number not in self._names]
        if not usual:
            return [self._names[number] for number in range(len(self._members))]
        blocks = self._checked if len(usual) == len(self._headers) else self._header_blocks(usual)
        fields = np.ascontiguousarray(blocks[:, :100])
        raw: list[bytes] = fields.view("S100").ravel().tolist()
        try:
            names = b"\0".join(raw).decode().split("\0")
        except UnicodeDecodeError:
            names = []
        if len(names) != len(raw):  # a name with bytes behind its end, or one that is not UTF-8
            names = [
                decode_tar_name(name.partition(b"\0")[0], self._tar.name, place + self._base)
                for name, place in zip(raw, usual, strict=True)
            ]
        if len(usual) == len(self._members):
            return names
        rest = iter(names)
        return [self._names[n] if n in self._names else next(rest) for n in range(len(self._members))]
