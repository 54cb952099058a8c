"""A raw object, and the results that a source's converter yields for it."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.protocol import Store


class Refused(NamedTuple):
    """A row that cannot become a document. It goes to the quarantine.

    Attributes:
        reason: short and stable, because ledgers count refused rows by it.
        where: the raw object and the row's place in it.
        raw: the row's bytes.
    """

    reason: str
    where: str
    raw: bytes


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

    Attributes:
        raw_span: where the document is that the converter yields next. A converter may set it, for `trace`. It is reset
            after each document.
    """

    def __init__(self, store: Store, path: str, name: str, size: int) -> None:
        self.name, self.size, self.path = name, size, path
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

    def read(self) -> bytes:
        """All its bytes."""
        return b"".join(self.chunks())

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
