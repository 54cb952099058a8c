"""A raw object, and the results that a source's converter yields for it."""

import tempfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from msgspec import UNSET, UnsetType

from gristmill.errors import DataError, RecipeError, StoreError, undone_at_failure
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_parts import BlockSum, Edge, RawPart
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.rows.streamed_file import StreamedFile
from gristmill.lake.store.hashing import Hashes
from gristmill.lake.store.plain_files import first_linked_path
from gristmill.lake.store.protocol import ObjectVersion
from gristmill.lake.store.read_ahead import Streams

TOO_LONG = "row too long"
"""The reason for a row that is longer than its source allows."""

IN_MEMORY = 32 << 20
"""Bytes of an object opened with seekable=True that stay in memory; a temporary file takes more."""

MOST_SEEKABLE = 16 << 30
"""Size in bytes above which an object is not copied to a temporary file, unless its converter says otherwise."""

_FLOOR = 256 << 20  # bytes to which every raw object may unpack
_PER_ROW = 256  # bytes for which each row counts besides its own, where the size of an unpacked object is judged
_COUNTERS = 100  # that are told apart, of a raw object


class Refused(NamedTuple):
    """A row that cannot become a document. It goes to the quarantine.

    Attributes:
        reason: short and stable, because ledgers count refused rows by it.
        where: the raw object and the row's place in it.
        raw: the row's bytes, or its first bytes if it is too long. The quarantine keeps 1 MiB of them.
        size: size of the row in bytes, if `raw` has only its first ones; else 0.
        row: its number in the raw object, from 0. None: the quarantine takes it from `where`, if that begins with the
            object's name and `row N`.
        id: the id that its document would have, in full, if the reader knows it: takedowns compare it.
        offset: its first byte in the unpacked object, or in the member. None: that of `raw.raw_span`, if the reader has
            set one.
        member: the file inside an archive; empty: that of `raw.raw_span`.
    """

    reason: str
    where: str
    raw: bytes
    size: int = 0
    row: int | None = None
    id: str = ""
    offset: int | None = None
    member: str = ""


class LeftOut(NamedTuple):
    """Records that, by their kind, are not documents, such as images in a crawl; or that the recipe does not want.

    Ledgers count them by `left out: <reason>`, and quarantine_limit ignores them. What should be a document is Refused.

    Attributes:
        reason: short and stable, such as `image`. It names no record, because ledgers list each reason.
        records: number of these records.
        id: the id of a single record, so that takedowns find it; empty: they name the object as not searched.
        source: the source of that record.
    """

    reason: str
    records: int = 1
    id: str = ""
    source: str = ""


class TooLong(DataError):  # noqa: N818 - the tree reads as English
    """A raw object that its converter reads whole, as one row, is longer than a row may be."""


class Limits(NamedTuple):
    """The limits of a source's raw objects; see gristmill.recipes.source.Source.

    Attributes:
        row: longest row in bytes.
        unpack: unpacked bytes for each byte of a packed object.
    """

    row: int = 256 << 20
    unpack: int = 2000


class Copied(NamedTuple):
    """A row that has Dolma's form already. Its bytes are kept.

    Attributes:
        id: its id.
        source: its source.
        line: its bytes, without the line feed.
    """

    id: str
    source: str
    line: bytes


Converted = Document | Refused | Copied | LeftOut


class RawObject:
    """One raw object, streamed from its store. Its bytes are hashed while they are read.

    Args:
        store: the store that holds it.
        path: its path in the store.
        name: its name below the snapshot.
        size: its size in bytes when it was listed.
        limits: limits of its rows, and of its unpacked size.
        version: version that was listed; reading any other is an error. None: only the size is compared.
        part: the part of it that is converted; None: all of it.
        digest: hash object that takes its bytes; by default a sha256 alone.

    Attributes:
        raw_span: place, in the object, of the document that the converter yields next. A converter may set it before
            each document; `trace` shows it.
        refused: rows that a reader has refused by itself. They are taken when the converter yields or ends.
        counts: counters by name; see count(). The ledger's table has their sums over the objects of a shard.
        edges: edges of a part: where its first record begins and its last one ends, or twice None if no record begins
            in it. The reader sets them before it ends.
        sums: checksums of the blocks, for a part of a bz2 file.
        told_link: answer of `link`; unset: nobody asked.
    """

    def __init__(
        self,
        store: Streams,
        path: str,
        name: str,
        size: int,
        limits: Limits | None = None,
        version: ObjectVersion | None = None,
        part: RawPart | None = None,
        digest: Hashes | None = None,
    ) -> None:
        self.name, self.size, self.path = name, size, path
        self.limits, self.part = limits or Limits(), part
        self.refused: list[Refused] = []
        self.counts: dict[str, int] = {}
        self.sums: list[BlockSum] = []
        self.edges: tuple[Edge | None, Edge | None] | None = None
        self._store, self._version, self._digest = store, version, digest or Hashes()
        self._seen, self._hashed = 0, part.start if part else 0
        self._pieces: Iterator[bytes] | None = None
        self.raw_span: RawSpan | None = None
        self.told_link: str | UnsetType = UNSET

    @property
    def link(self) -> str:
        """The first part of its name that is a link; empty if no part is one, or the store is a bucket."""
        self.told_link = first_linked_path(getattr(self._store, "url", ""), self.path, self.name.count("/") + 1)
        return self.told_link

    def take_raw_span(self) -> RawSpan | None:
        """The raw span of the document that was just yielded. It is reset afterwards."""
        raw_span, self.raw_span = self.raw_span, None
        return raw_span

    def chunks(self) -> Iterator[bytes]:
        """Its bytes, in pieces of at most a few MiB; of a part, those from its start to the end of the object.

        Raises:
            RecipeError: it was read or opened before. Its bytes are streamed and hashed once.
            StoreError: it is not the object that was listed.
        """
        if self._pieces is not None:
            raise RecipeError(
                f"{self.path}: the converter reads it a second time; keep what chunks(), read() or open() gave, or open"
                " it once with seekable=True"
            )
        self._pieces = self._stream_from_byte(self.part.start if self.part else 0)
        for piece in self._pieces:  # noqa: UP028 - a reader that stops early would close what `yield from` reads
            yield piece

    def count(self, what: str, number: int = 1) -> None:
        """Counts something that people should know about the rows, though they are kept, such as an unknown key.

        Args:
            what: its name. After 100 names, all others are counted as `others`.
            number: number to add to the counter.
        """
        if what not in self.counts and len(self.counts) >= _COUNTERS:
            what = "others"
        self.counts[what] = self.counts.get(what, 0) + number

    def _stream_from_byte(self, start: int) -> Iterator[bytes]:
        """The pieces from a byte on; those of a part continue to the end of the object."""
        at = start
        for piece in self._store.stream(self.path, self._version, at):
            self._count_and_hash_piece(piece, at)
            at += len(piece)
            yield piece

    def _count_and_hash_piece(self, piece: bytes, at: int) -> None:
        """Counts a piece that begins at this byte, and hashes what was not hashed. Of a part only its own bytes are."""
        self._seen += len(piece)
        end = at + len(piece)
        if at <= self._hashed < end:
            end = min(end, self.part.end) if self.part else end
            self._digest.update(piece[self._hashed - at : end - at] if self._hashed > at or self.part else piece)
            self._hashed = max(end, self._hashed)

    def read_at(self, start: int, end: int) -> bytes:
        """The bytes [start, end) of the object, for readers of formats with an index. Ranges may come in any order.

        Args:
            start: the first byte.
            end: the byte after the last one.

        Raises:
            StoreError: the object is shorter, so it was replaced.
        """
        data = self._store.read_range(self.path, start, end)
        self._count_and_hash_piece(data, start)
        return data

    def take_refused(self) -> list[Refused]:
        """The rows that a reader has refused by itself since the last call."""
        taken, self.refused = self.refused, []
        return taken

    def read(self, limit: int | None = None) -> bytes:
        """All its bytes, as one row.

        Args:
            limit: most bytes; None: the longest row of the source. Readers of archives give `raw.size`.

        Raises:
            TooLong: it has more bytes, and none was read. If the converter does not catch it, the object is refused.
        """
        self._check_whole("read()")
        most = self.limits.row if limit is None else limit
        if self.size > most:
            raise TooLong(f"{self.path}: {self.size} bytes as one row, and a row has at most {most}")
        return b"".join(self.chunks())

    def open(self, *, seekable: bool = False, unpack: bool = False, most: int = MOST_SEEKABLE) -> IO[bytes]:
        """Its bytes as a binary file that is open for reading.

        By default the file is a stream: it holds about 2 MiB, and cannot seek. That is enough for lines, `csv`, `json`,
        `gzip`, `bz2`, `lzma`, and `tarfile.open(fileobj=file, mode="r|*")`. Zip archives, parquet and most libraries
        seek; `seekable=True` copies the bytes first: up to 32 MiB into memory, more into a temporary file.

        Args:
            seekable: whether the file can seek.
            unpack: whether the file has the plain bytes of an object whose name ends with .gz, .zst, .bz2 or .xz.
            most: largest number of bytes to read from a seekable file; plain ones if they are unpacked.

        Returns:
            The file. Close it, best by `with`. What the converter leaves unread is hashed, too.

        Raises:
            RecipeError: the object was read or opened before; or a stream is asked to seek.
            DataError: a seekable file would have more than `most` bytes; or, while it is read, the object is truncated,
                is not packed as its name says, or unpacks to far more than honest data do.
            StoreError: while it is read: it is not the object that was listed.
        """
        self._check_whole("open()")
        pieces = self.plain_chunks() if unpack else self.chunks()
        if not seekable:
            return StreamedFile(pieces, self.path)
        file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller closes it
        with undone_at_failure(file.close):
            if not unpack:
                self._check_room(self.size, most)
            for piece in pieces:
                file.write(piece)
                self._check_room(file.tell(), most)
        file.seek(0)
        return file

    def _check_whole(self, call: str) -> None:
        if self.part:
            raise RecipeError(
                f"{self.name}: {call} cannot read a part of an object; use shards=OneToOne() in its source"
            )

    def _check_room(self, size: int, most: int) -> None:
        if size > most:
            raise DataError(
                f"{self.path}: {size:,} bytes or more for a seekable file, and at most {most:,} are allowed; read it as"
                " a stream, split it, or let the converter call open(seekable=True, most=BYTES) if the disk of each"
                " worker has room"
            )

    def plain_chunks(self) -> Iterator[bytes]:
        """Its plain bytes, in pieces of at most a few MiB: those of chunks(), unpacked if its name says so.

        Raises:
            RecipeError: as for chunks().
            DataError: the object is truncated, is not packed as its name says, or unpacks to far more than honest data.
            StoreError: as for chunks().
        """
        size = 0
        for piece in unpack_pieces(self.chunks(), self.path):
            size += len(piece)
            self.check_unpacked(size)
            yield piece

    def check_unpacked(self, size: int, rows: int = 0, packed: int | None = None) -> None:
        """Checks that a packed object does not unpack to far more than honest data do.

        Args:
            size: unpacked bytes so far.
            rows: number of rows in the unpacked bytes.
            packed: the packed bytes that hold them; None: those that were read so far.

        Raises:
            DataError: they are more than 256 MiB and `limits.unpack` bytes for each byte that was read so far. Each row
                counts as 256 bytes more, because a row costs work however short it is.
        """
        seen = self._seen if packed is None else packed
        if size + _PER_ROW * rows > _FLOOR + self.limits.unpack * seen:
            raise DataError(
                f"{self.path}: its first {seen:,} bytes unpack to {size:,} bytes and {rows:,} rows, as a"
                f" decompression bomb does; remove it, or, if it is honest, give its source an unpack_limit of more"
                f" than {self.limits.unpack}"
            )

    def sha256(self) -> str:
        """The hex sha256 of all its bytes. Bytes that the converter did not read are read now.

        Raises:
            StoreError: it has another size than when it was listed, so it is being replaced.
        """
        if self._pieces is None:
            self._pieces = self._stream_from_byte(self._hashed)
        while not (self.part and self._hashed >= self.part.end) and next(self._pieces, None):
            pass
        if self.part:
            found = self._store.head(self.path)
            if found is None or (self._version and not self._version.same(found)):
                raise StoreError(f"{self.path}: replaced while it was read; try again")
        end = self.part.end if self.part else self.size
        if self._hashed != end:
            raise StoreError(f"{self.path}: {end} bytes when listed, {self._hashed} when read; try again")
        return self._digest.sha256()
