"""One shard of JSON lines as a stream: read in bounded memory, counted and hashed while written.

Written shards are gzip members of about 1 MiB of rows, cut at row ends, with no time stamp: any gzip reader reads
them, and the offsets of the members allow random access. `.gz`, `.zst` and plain files are read.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator

import msgspec
import xxhash
import zstandard
from isal import igzip_lib

from gristmill.errors import DataError, StoreError
from gristmill.lake.store.protocol import Store

MEMBER = 1 << 20
"""Bytes of rows after which a gzip member is closed, at the next row end."""
LEVEL = 3
"""igzip's: level 3 gives a ratio of 3.35 on text at eight times zlib's speed."""
BLOCK = 4 << 20
"""Bytes of rows a reader hands on at a time, at least (a longer row makes a longer block)."""
_FRAME_STEP = 4 << 10
"""Packed bytes that zstd is given at a time, for the same reason: it unpacks all it is given at once."""
_STEP = 1 << 22
"""Bytes that are decompressed at the most before they are looked at: a small file may hold a huge text."""


class Written(msgspec.Struct, frozen=True):
    """What a finished shard is.

    Attributes:
        rows: rows.
        bytes: size of the object.
        length: bytes of the rows, uncompressed.
        sha256: of the object.
        content: XXH3-128 of the uncompressed bytes.
        members: (offset in the object, number of its first row) of each gzip member.
        etag: as the store gave it.
    """

    rows: int
    bytes: int
    length: int
    sha256: str
    content: str
    members: list[tuple[int, int]]
    etag: str


class ShardWriter:
    """Writes rows as a gzip shard; nothing is visible before close()."""

    def __init__(self, store: Store, path: str) -> None:
        self._upload = store.upload(path)
        self._sha256 = hashlib.sha256()
        self._content = xxhash.xxh3_128()
        self._pending: list[bytes] = []
        self._waiting = 0
        self._rows = self._bytes = self._length = 0
        self._members: list[tuple[int, int]] = []

    def write(self, rows: bytes) -> None:
        """Adds whole rows, each closed by a line feed."""
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
        packed = igzip_lib.compress(rows, LEVEL, igzip_lib.COMP_GZIP)
        self._members.append((self._bytes, self._rows))
        self._content.update(rows)
        self._sha256.update(packed)
        self._upload.write(packed)
        self._rows += rows.count(b"\n")
        self._length += len(rows)
        self._bytes += len(packed)

    def close(self) -> Written:
        """Publishes the shard. An empty one is a single empty member."""
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
        """Leaves nothing behind."""
        self._upload.abort()


def gzip_bytes(data: bytes) -> bytes:
    """Deterministic gzip of a small object."""
    return bytes(igzip_lib.compress(data, LEVEL, igzip_lib.COMP_GZIP))


def checked(pieces: Iterable[bytes], path: str, sha256: str) -> Iterator[bytes]:
    """The pieces as they are; StoreError at their end if they are not the object that the ledger names."""
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
    """Plain bytes of a gzip file of any number of members, zero padding behind them allowed (RFC 1952)."""
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
                    raise DataError(_broken(path, seen, "bytes behind the last gzip member that are no gzip"))
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
    """Plain bytes of a Zstandard file of any number of frames."""
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
    """Plain bytes of a file whose name says how it is packed: `.gz`, `.zst`/`.zstd`, else not at all."""
    if path.lower().endswith(".gz"):
        return _gunzip(pieces, path)
    if path.lower().endswith((".zst", ".zstd")):
        return _unzstd(pieces, path)
    return iter(pieces)


def blocks(pieces: Iterable[bytes], size: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole rows, each row closed by a line feed (the last one is given one if it has none).

    Args:
        pieces: plain bytes in any pieces.
        size: bytes a block has at the least, but for the last.
    """
    pending: list[bytes] = []
    waiting = 0
    for piece in pieces:
        pending.append(piece)
        waiting += len(piece)
        if waiting < size:
            continue
        end = piece.rfind(b"\n") + 1
        if not end:
            continue
        rest = piece[end:]
        pending[-1] = piece[:end]
        whole = [b"".join(pending)]
        pending, waiting = ([rest], len(rest)) if rest else ([], 0)
        yield whole.pop()  # a row may be huge: nothing is held here while it is worked on
    if waiting:
        if not pending[-1].endswith(b"\n"):
            pending.append(b"\n")
        whole = [b"".join(pending)]
        pending.clear()
        yield whole.pop()


def read_blocks(store: Store, path: str, sha256: str | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """The rows of a shard as blocks of whole lines.

    Raises:
        DataError: the file is truncated or not what its name says.
        StoreError: it is not the object whose sha256 the ledger names (raised at the end, so use nothing before).
    """
    pieces = store.stream(path)
    if sha256 is not None:
        pieces = checked(pieces, path, sha256)
    return blocks(unpacked(pieces, path), size)


def rows_of(block: bytes) -> list[bytes]:
    """The rows of a block, without their line feeds."""
    rows = block.split(b"\n")
    rows.pop()
    return rows


def member_rows(store: Store, path: str, members: list[tuple[int, int]], size: int, row: int) -> list[bytes]:
    """The rows of the one gzip member that holds `row`, by one range read; and see `member_of`.

    Raises:
        StoreError: there is no such member: the shard was replaced since its table was read.
    """
    start, end, _ = member_of(members, size, row)
    data = store.read_range(path, start, end)
    try:
        return rows_of(zlib.decompress(data, wbits=31))
    except zlib.error as error:
        raise StoreError(f"{path}: no member at byte {start}: it is being rebuilt; try again") from error


def member_of(members: list[tuple[int, int]], size: int, row: int) -> tuple[int, int, int]:
    """(start, end, first row) of the member that holds `row`."""
    place = max(i for i, (_, first) in enumerate(members) if first <= row)
    end = members[place + 1][0] if place + 1 < len(members) else size
    return members[place][0], end, members[place][1]
