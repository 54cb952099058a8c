"""Raw objects, and what a source's converter yields of them."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import Spot
from gristmill.lake.store.protocol import Store


class Refused(NamedTuple):
    """A row that cannot become a document.

    Attributes:
        reason: short and stable: it becomes a counter.
        where: the raw object, and the place in it.
        raw: its bytes.
    """

    reason: str
    where: str
    raw: bytes


class Copied(NamedTuple):
    """A row that is a document in Dolma's form already: its bytes are kept as they are."""

    id: str
    source: str
    line: bytes


Converted = Document | Refused | Copied


class RawObject:
    """One raw object, streamed from where it lies; its bytes are hashed as they pass.

    Attributes:
        spot: where the document lies that the converter gives next; it may say so, for `trace`. Taken away once the
            document is given.
    """

    def __init__(self, store: Store, path: str, name: str, size: int) -> None:
        self.name, self.size, self.path = name, size, path
        self._store = store
        self._digest = hashlib.sha256()
        self._seen = 0
        self._pieces: Iterator[bytes] | None = None
        self.spot: Spot | None = None

    def taken_spot(self) -> Spot | None:
        """The spot of the document that was given just now."""
        spot, self.spot = self.spot, None
        return spot

    def chunks(self) -> Iterator[bytes]:
        """Its bytes in pieces of at most a few MiB; may be asked for once."""
        self._pieces = self._store.stream(self.path)
        for piece in self._pieces:
            self._digest.update(piece)
            self._seen += len(piece)
            yield piece

    def read(self) -> bytes:
        """Its bytes, whole."""
        return b"".join(self.chunks())

    def sha256(self) -> str:
        """Of all its bytes, also of those that the converter left unread.

        Raises:
            StoreError: it is not as long as it was when listed: it is being replaced.
        """
        if self._pieces is None:
            self._pieces = self._store.stream(self.path)
        for piece in self._pieces:
            self._digest.update(piece)
            self._seen += len(piece)
        if self._seen != self.size:
            raise StoreError(f"{self.path}: {self.size} bytes when listed, {self._seen} when read: try again")
        return self._digest.hexdigest()
