"""Shards of JSON lines as streams: read in bounded memory, counted and hashed while they are written.

A written shard consists of gzip members of about 1 MiB of rows, cut at row ends, without a time stamp. Any gzip reader
reads it, and the offsets of the members allow random access. `.gz`, `.zst` and plain files are read.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np
import xxhash
from isal import igzip_lib

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.row_blocks import BLOCK, ROW_LIMIT, read_row_blocks
from gristmill.lake.rows.unpacking import unpack_bzip2, unpack_gzip, unpack_xz, unpack_zstandard
from gristmill.lake.store.adopted import ADOPT_AGAIN, AdoptedFiles
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store

MEMBER = 1 << 20
"""Bytes of rows after which a gzip member is closed, at the next row end."""
PACKINGS: dict[str, Callable[[Iterable[bytes], str], Iterator[bytes]]] = {
    **dict.fromkeys((".gz", ".tgz"), unpack_gzip),
    **dict.fromkeys((".zst", ".zstd", ".tzst"), unpack_zstandard),
    **dict.fromkeys((".bz2", ".tbz2", ".tbz"), unpack_bzip2),
    **dict.fromkeys((".xz", ".txz"), unpack_xz),
}
"""What unpacks a file, by the ending of its name in lower case."""
_LINE_FEED = 10
LEVEL = 3
"""Level of igzip: 3 compresses text to 30 % at eight times the speed of zlib."""


class Written(msgspec.Struct, frozen=True):
    """Sizes and digests of a finished shard.

    Attributes:
        rows: number of rows.
        bytes: size of the object.
        length: uncompressed size of the rows in bytes.
        sha256: sha256 of the object (hex).
        content: XXH3-128 of the uncompressed bytes (hex).
        members: members of the gzip file: for each its offset in the object and the number of its first row.
        version: version of the object, from the store.
    """

    rows: int
    bytes: int
    length: int
    sha256: str
    content: str
    members: list[tuple[int, int]]
    version: ObjectVersion


class UnkeptUpload:
    """Takes the bytes of an object that nobody will read. Writers need not pack them.

    Args:
        path: the path of the object.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, data: bytes) -> None:
        """Forgets the bytes."""

    def close(self) -> Entry:
        """The entry of an object without bytes. No object appears."""
        return Entry(self._path, 0, "")

    def abort(self) -> None:
        """Does nothing."""


class ShardWriter:
    """Writes rows as a gzip shard; the shard appears at close().

    If the store keeps nothing of it, the rows are not packed: only what is known of the rows themselves is right.

    Args:
        store: store that receives the shard.
        path: path of the shard.
    """

    def __init__(self, store: Store, path: str) -> None:
        self._upload, self._path = store.upload(path), path
        self._sha256 = hashlib.sha256()
        self._content = xxhash.xxh3_128()
        self._pending: list[bytes] = []
        self._waiting = 0
        self._rows = self._bytes = self._length = 0
        self._members: list[tuple[int, int]] = []

    def write(self, rows: bytes) -> None:
        """Appends complete rows, each with its line feed.

        Raises:
            DataError: a row is longer than ROW_LIMIT. It may be raised at close() too.
        """
        if not rows:
            return
        self._pending.append(rows)
        self._waiting += len(rows)
        if self._waiting >= MEMBER:
            self._end_gzip_member()

    def _end_gzip_member(self) -> None:
        waiting = b"".join(self._pending)
        start, view = 0, memoryview(waiting)
        while len(waiting) - start >= MEMBER:
            end = waiting.find(b"\n", start + MEMBER - 1) + 1
            if not end:
                break
            self._write_gzip_member(view[start:end])
            start = end
        rest = waiting[start:]
        self._pending, self._waiting = [rest], len(rest)

    def _write_gzip_member(self, rows: bytes | memoryview) -> None:
        if len(rows) > ROW_LIMIT:
            self._check_last(bytes(rows))
        kept = not isinstance(self._upload, UnkeptUpload)
        packed = igzip_lib.compress(rows, LEVEL, igzip_lib.COMP_GZIP) if kept else b""
        self._members.append((self._bytes, self._rows))
        self._content.update(rows)
        self._sha256.update(packed)
        self._upload.write(packed)
        self._rows += int(np.count_nonzero(np.frombuffer(rows, np.uint8) == _LINE_FEED))
        self._length += len(rows)
        self._bytes += len(packed)

    def _check_last(self, rows: bytes) -> None:
        """Checks the length of a member's last row. The others end before MEMBER bytes."""
        length = len(rows) - 1 - (rows.rfind(b"\n", 0, len(rows) - 1) + 1)
        if length > ROW_LIMIT:
            number = self._rows + rows.count(b"\n") - 1
            raise DataError(
                f"{self._path}: row {number} has {length} bytes, and a row has at most {ROW_LIMIT};"
                " mend the recipe that makes it"
            )

    def close(self) -> Written:
        """Publishes the shard. A shard without rows is one empty gzip member.

        Returns:
            Its sizes and digests.
        """
        self._end_gzip_member()
        rest = b"".join(self._pending)
        if rest or not self._members:
            self._write_gzip_member(rest)
        entry = self._upload.close()
        return Written(
            rows=self._rows,
            bytes=self._bytes,
            length=self._length,
            sha256=self._sha256.hexdigest(),
            content=self._content.hexdigest(),
            members=self._members,
            version=entry.version,
        )

    def abort(self) -> None:
        """Removes everything written so far."""
        self._upload.abort()


def gzip_bytes(data: bytes) -> bytes:
    """The gzip form of a small object, without a time stamp: equal data gives equal bytes."""
    return bytes(igzip_lib.compress(data, LEVEL, igzip_lib.COMP_GZIP))


WHOLE = 1 << 26
"""Bytes of a gzip member that is unpacked in one piece. A larger one, as foreign files have, is read as a stream."""


def verify_pieces(pieces: Iterable[bytes], path: str, sha256: str, *, adopted: bool = False) -> Iterator[bytes]:
    """The pieces unchanged. After the last one their sha256 is compared.

    Args:
        pieces: bytes of an object, in pieces.
        path: path of the object, for the message.
        sha256: sha256 of the object (hex), as its ledger names it.
        adopted: whether the file belongs to others: the message then proposes another remedy.

    Raises:
        StoreError: the sha256 differs. It is raised after the last piece, so use no result before.
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        if adopted:
            raise StoreError(f"{path}: changed since it was adopted: it has another sha256; {ADOPT_AGAIN}")
        raise StoreError(
            f"{path}: not the object that its ledger names: it is being rebuilt, or was changed by hand;"
            " try again, or run its asset again"
        )


def unpack_pieces(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The plain bytes of a file.

    Args:
        pieces: bytes of the file, in pieces.
        path: path of the file. Its ending names the packing, as in PACKINGS: `.gz`, `.zst`, `.zstd`, `.bz2`, `.xz`, or
            that of a packed tar archive, such as `.tgz`; any other ending means that it is not packed.

    Raises:
        DataError: the file is truncated, or is not packed as its name says (raised while the pieces are read).
    """
    unpack = PACKINGS.get(lower_suffix(path))
    return iter(pieces) if unpack is None else unpack(pieces, path)


def lower_suffix(path: str) -> str:
    """The last ending of a file's name, in lower case and with its dot; empty without one.

    >>> lower_suffix("en/Tales.tar.GZ")
    '.gz'
    """
    name = path.rpartition("/")[2].lower()
    return "." + name.rpartition(".")[2] if "." in name else ""


def unpacked_whole(data: bytes, path: str, most: int = ROW_LIMIT) -> bytes:
    """The plain bytes of a small object, such as a ledger's table.

    Args:
        data: content of the object.
        path: path of the object; its ending names the packing.
        most: greatest size of the plain bytes.

    Raises:
        DataError: the object is truncated, is not packed as its name says, or unpacks to more bytes.
    """
    plain: list[bytes] = []
    size = 0
    for piece in unpack_pieces([data], path):
        size += len(piece)
        if size > most:
            raise DataError(f"{path}: its {len(data)} bytes unpack to more than {most}; rebuild this file")
        plain.append(piece)
    return b"".join(plain)


def read_blocks(store: Store, path: str, sha256: str | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """The rows of a shard as blocks of complete lines.

    Args:
        store: store of the shard.
        path: path of the shard.
        sha256: sha256 of the shard (hex), as its ledger names it; None: it is not checked.
        size: least size of a block in bytes.

    Raises:
        DataError: the file is truncated, is not packed as its name says, or has a row of more than `ROW_LIMIT` bytes.
        StoreError: the sha256 differs. It is raised after the last block, so use no result before.
    """
    pieces = store.stream(path)
    if sha256 is not None:
        pieces = verify_pieces(pieces, path, sha256, adopted=isinstance(store, AdoptedFiles))
    return read_row_blocks(unpack_pieces(pieces, path), path, size)


def split_rows(block: bytes) -> list[bytes]:
    """The rows of a block, without their line feeds."""
    rows = block.split(b"\n")
    rows.pop()
    return rows


def member_rows(store: Store, path: str, members: Sequence[tuple[int, int]], size: int, row: int) -> list[bytes]:
    """The rows of the gzip member that holds `row`, without line feeds. One range read fetches them.

    Args:
        store: store of the shard.
        path: path of the shard.
        members: gzip members of the shard; see Written.
        size: size of the shard in bytes.
        row: number of a row in the shard; `find_gzip_member` has the number of the first row of the result.

    Raises:
        StoreError: the shard has no such member: it was replaced since its table was read.
    """
    start, end, _ = find_gzip_member(members, size, row)
    data = store.read_range(path, start, end)
    try:
        return split_rows(unpacked_whole(data, path, MEMBER + ROW_LIMIT))
    except DataError as error:
        raise StoreError(
            f"{path}: no gzip member begins at byte {start}: the shard is being rebuilt; try again"
        ) from error


def find_gzip_member(members: Sequence[tuple[int, int]], size: int, row: int) -> tuple[int, int, int]:
    """The gzip member that holds a row.

    Args:
        members: gzip members of the shard; see Written.
        size: size of the shard in bytes.
        row: number of the row in the shard.

    Returns:
        Its start and end in the object, in bytes, and the number of its first row.

    >>> find_gzip_member([(0, 0), (400, 10)], 900, 12)
    (400, 900, 10)
    """
    number = max(i for i, (_, first) in enumerate(members) if first <= row)
    end = members[number + 1][0] if number + 1 < len(members) else size
    return members[number][0], end, members[number][1]
