"""A raw object, and the results that a source's converter yields for it."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.protocol import Store

TOO_LONG = "row too long"
"""The reason for a row that is longer than its source allows."""

_FLOOR = 256 << 20
"""Bytes to which every raw object may unpack."""
_PER_ROW = 256
"""Bytes for which each row counts besides its own, where the size of an unpacked object is judged."""


class Refused(NamedTuple):
    """A row that cannot become a document. It goes to the quarantine.

    Attributes:
        reason: short and stable, because ledgers count refused rows by it.
        where: the raw object and the row's place in it.
        raw: the row's bytes, or its first bytes if it is too long. The quarantine keeps 1 MiB of them.
        size: size of the row in bytes, if `raw` has only its first ones; else 0.
    """

    reason: str
    where: str
    raw: bytes
    size: int = 0


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


Converted = Document | Refused | Copied


class RawObject:
    """One raw object, streamed from its store. Its bytes are hashed while they are read.

    Args:
        store: the store that holds it.
        path: its path in the store.
        name: its name below the snapshot.
        size: its size in bytes when it was listed.
        limits: of its rows, and of its unpacked size.

    Attributes:
        raw_span: where the document is that the converter yields next. A converter may set it, for `trace`. It is reset
            after each document.
        refused: rows that a reader has refused by itself. They are taken when the converter yields or ends.
    """

    def __init__(self, store: Store, path: str, name: str, size: int, limits: Limits | None = None) -> None:
        self.name, self.size, self.path = name, size, path
        self.limits = limits or Limits()
        self.refused: list[Refused] = []
        self._store = store
        self._digest = hashlib.sha256()
        self._seen = 0
        self._pieces: Iterator[bytes] | None = None
        self.raw_span: RawSpan | None = None

    def take_raw_span(self) -> RawSpan | None:
        """The raw span of the document that was just yielded. It is reset afterwards."""
        raw_span, self.raw_span = self.raw_span, None
        return raw_span

    def chunks(self) -> Iterator[bytes]:
        """Its bytes, in pieces of at most a few MiB. May be called once."""
        self._pieces = self._store.stream(self.path)
        for piece in self._pieces:
            self._digest.update(piece)
            self._seen += len(piece)
            yield piece

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
        most = self.limits.row if limit is None else limit
        if self.size > most:
            raise TooLong(f"{self.path}: {self.size} bytes as one row, and a row has at most {most}")
        return b"".join(self.chunks())

    def check_unpacked(self, size: int, rows: int = 0) -> None:
        """Checks that a packed object does not unpack to far more than honest data do.

        Args:
            size: unpacked bytes so far.
            rows: how many rows they hold.

        Raises:
            DataError: they are more than 256 MiB and `limits.unpack` bytes for each byte that was read so far. Each row
                counts as 256 bytes more, because a row costs work however short it is.
        """
        if size + _PER_ROW * rows > _FLOOR + self.limits.unpack * self._seen:
            raise DataError(
                f"{self.path}: its first {self._seen:,} bytes unpack to {size:,} bytes and {rows:,} rows, as a"
                f" decompression bomb does; remove it, or, if it is honest, give its source an unpack_limit of more"
                f" than {self.limits.unpack}"
            )

    def sha256(self) -> str:
        """The hex sha256 of all its bytes. Bytes that the converter did not read are read now.

        Raises:
            StoreError: its size is no longer the size when it was listed, so it is being replaced.
        """
        if self._pieces is None:
            self._pieces = self._store.stream(self.path)
        for piece in self._pieces:
            self._digest.update(piece)
            self._seen += len(piece)
        if self._seen != self.size:
            raise StoreError(f"{self.path}: {self.size} bytes when listed, {self._seen} when read; try again")
        return self._digest.hexdigest()
