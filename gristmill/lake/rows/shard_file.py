"""Shards of JSON lines as streams: read in bounded memory, counted and hashed while they are written.

A written shard consists of gzip members of about 1 MiB of rows, cut at row ends, without a time stamp. Any gzip reader
reads it, and the offsets of the members allow random access. `.gz`, `.zst` and plain files are read.
"""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec
import xxhash
import zstandard
from isal import igzip_lib

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.row_blocks import BLOCK, ROW_LIMIT, blocks
from gristmill.lake.store.protocol import Store

MEMBER = 1 << 20
"""Bytes of rows after which a gzip member is closed, at the next row end."""
LEVEL = 3
"""Level of igzip: 3 compresses text to 30 % at eight times the speed of zlib."""
_STEP = 1 << 22
"""Most bytes that one call unpacks: a small file may hold a huge text, and memory must stay bounded."""
_FRAME_STEP = 4 << 10
"""Packed bytes per call of zstd, for the same reason: it always unpacks all of its input."""


class Written(msgspec.Struct, frozen=True):
    """Sizes and digests of a finished shard.

    Attributes:
        rows: how many rows it has.
        bytes: size of the object.
        length: uncompressed size of the rows in bytes.
        sha256: of the object (hex).
        content: XXH3-128 of the uncompressed bytes (hex).
        members: for each gzip member its offset in the object and the number of its first row.
        etag: of the object, from the store.
    """

    rows: int
    bytes: int
    length: int
    sha256: str
    content: str
    members: list[tuple[int, int]]
    etag: str


class ShardWriter:
    """Writes rows as a gzip shard; the shard appears at close().

    Args:
        store: receives the shard.
        path: of the shard.
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
            self._cut()

    def _cut(self) -> None:
        waiting = b"".join(self._pending)
        start = 0
        while len(waiting) - start >= MEMBER:
            end = waiting.find(b"\n", start + MEMBER - 1) + 1
            if not end:
                break
            self._member(waiting[start:end])
            start = end
        rest = waiting[start:]
        self._pending, self._waiting = [rest], len(rest)

    def _member(self, rows: bytes) -> None:
        if len(rows) > ROW_LIMIT:
            self._check_last(rows)
        packed = igzip_lib.compress(rows, LEVEL, igzip_lib.COMP_GZIP)
        self._members.append((self._bytes, self._rows))
        self._content.update(rows)
        self._sha256.update(packed)
        self._upload.write(packed)
        self._rows += rows.count(b"\n")
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
        self._cut()
        rest = b"".join(self._pending)
        if rest or not self._members:
            self._member(rest)
        entry = self._upload.close()
        return Written(
            rows=self._rows,
            bytes=self._bytes,
            length=self._length,
            sha256=self._sha256.hexdigest(),
            content=self._content.hexdigest(),
            members=self._members,
            etag=entry.etag,
        )

    def abort(self) -> None:
        """Removes everything written so far."""
        self._upload.abort()


def gzip_bytes(data: bytes) -> bytes:
    """The gzip form of a small object, without a time stamp: equal data gives equal bytes."""
    return bytes(igzip_lib.compress(data, LEVEL, igzip_lib.COMP_GZIP))


def checked(pieces: Iterable[bytes], path: str, sha256: str) -> Iterator[bytes]:
    """The pieces unchanged. After the last one their sha256 is compared.

    Args:
        pieces: of an object.
        path: of the object, for the message.
        sha256: of the object (hex), as its ledger names it.

    Raises:
        StoreError: the sha256 differs. It is raised after the last piece, so use no result before.
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        raise StoreError(
            f"{path}: not the object that its ledger names: it is being rebuilt, or was changed by hand;"
            " try again, or run its asset again"
        )


def _gunzip(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:  # noqa: C901 - one state machine, read as one
    """The plain bytes of a gzip file with any number of members; zero padding may follow them (RFC 1952)."""
    member: igzip_lib.IgzipDecompressor | None = None
    seen = 0
    for piece in pieces:
        data = piece
        while data:
            if member is None:
                data = data.lstrip(b"\x00") if seen else data
                if not data:
                    break
                if seen and not data.startswith(b"\x1f"):
                    raise DataError(_broken(path, seen, "the bytes after the last gzip member are not gzip"))
                member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
            try:
                plain = member.decompress(data, _STEP)
                while True:
                    if plain:
                        seen += len(plain)
                        yield plain
                    if member.eof or member.needs_input:
                        break
                    plain = member.decompress(b"", _STEP)
            except (igzip_lib.IsalError, EOFError, ValueError) as error:  # type: ignore[misc]  # no stub
                raise DataError(_broken(path, seen, f"not valid gzip ({error})")) from error
            seen = seen or 1
            data = member.unused_data if member.eof else b""
            member = None if member.eof else member
    if member is not None or not seen:
        raise DataError(_broken(path, seen, "the file ends in the middle: it was truncated"))


def _unzstd(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The plain bytes of a Zstandard file with any number of frames."""
    frame: zstandard.ZstdDecompressionObj | None = None
    seen = 0
    for piece in _slices(pieces):
        data = piece
        while data:
            if frame is None:
                frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            try:
                plain = frame.decompress(data)
            except zstandard.ZstdError as error:
                raise DataError(_broken(path, seen, f"not valid zstd ({error})")) from error
            if plain:
                seen += len(plain)
                yield plain
            seen = seen or 1
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None or not seen:
        raise DataError(_broken(path, seen, "the file ends in the middle: it was truncated"))


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _FRAME_STEP):
            yield piece[start : start + _FRAME_STEP]


def _broken(path: str, seen: int, what: str) -> str:
    return f"{path}: {what}, after {seen} bytes of text; acquire or rebuild this file"


def unpacked(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The plain bytes of a file.

    Args:
        pieces: of the file.
        path: of the file. Its ending names the packing: `.gz`, `.zst` or `.zstd`; any other ending means none.

    Raises:
        DataError: the file is truncated, or is not packed as its name says (raised while the pieces are read).
    """
    if path.lower().endswith(".gz"):
        return _gunzip(pieces, path)
    if path.lower().endswith((".zst", ".zstd")):
        return _unzstd(pieces, path)
    return iter(pieces)


def unpacked_whole(data: bytes, path: str, most: int = ROW_LIMIT) -> bytes:
    """The plain bytes of a small object, such as a ledger's table.

    Args:
        data: the object.
        path: of it; see unpacked().
        most: greatest size of the plain bytes.

    Raises:
        DataError: the object is truncated, is not packed as its name says, or unpacks to more bytes.
    """
    plain: list[bytes] = []
    size = 0
    for piece in unpacked([data], path):
        size += len(piece)
        if size > most:
            raise DataError(f"{path}: its {len(data)} bytes unpack to more than {most}; rebuild this file")
        plain.append(piece)
    return b"".join(plain)


def read_blocks(store: Store, path: str, sha256: str | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """The rows of a shard as blocks of complete lines.

    Args:
        store: holds the shard.
        path: of the shard.
        sha256: of the shard (hex), as its ledger names it; None: it is not checked.
        size: least size of a block in bytes.

    Raises:
        DataError: the file is truncated, is not packed as its name says, or has a row of more than `ROW_LIMIT` bytes.
        StoreError: the sha256 differs. It is raised after the last block, so use no result before.
    """
    pieces = store.stream(path)
    if sha256 is not None:
        pieces = checked(pieces, path, sha256)
    return blocks(unpacked(pieces, path), path, size)


def rows_of(block: bytes) -> list[bytes]:
    """The rows of a block, without their line feeds."""
    rows = block.split(b"\n")
    rows.pop()
    return rows


def member_rows(store: Store, path: str, members: list[tuple[int, int]], size: int, row: int) -> list[bytes]:
    """The rows of the gzip member that holds `row`, without line feeds. One range read fetches them.

    Args:
        store: holds the shard.
        path: of the shard.
        members: of the shard; see Written.
        size: of the shard in bytes.
        row: number of a row in the shard; `member_of` has the number of the first row of the result.

    Raises:
        StoreError: the shard has no such member: it was replaced since its table was read.
    """
    start, end, _ = member_of(members, size, row)
    data = store.read_range(path, start, end)
    try:
        return rows_of(unpacked_whole(data, path, MEMBER + ROW_LIMIT))
    except DataError as error:
        raise StoreError(
            f"{path}: no gzip member begins at byte {start}: the shard is being rebuilt; try again"
        ) from error


def member_of(members: list[tuple[int, int]], size: int, row: int) -> tuple[int, int, int]:
    """The gzip member that holds a row.

    Args:
        members: of the shard; see Written.
        size: of the shard in bytes.
        row: number of the row in the shard.

    Returns:
        Its start and end in the object, in bytes, and the number of its first row.

    >>> member_of([(0, 0), (400, 10)], 900, 12)
    (400, 900, 10)
    """
    number = max(i for i, (_, first) in enumerate(members) if first <= row)
    end = members[number + 1][0] if number + 1 < len(members) else size
    return members[number][0], end, members[number][1]
