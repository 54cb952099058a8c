"""Upload of an object to a bucket: one request if it is small, otherwise several parts."""

from typing import TYPE_CHECKING, Protocol

from gristmill.lake.store.protocol import Entry

if TYPE_CHECKING:
    from gristmill.lake.store.s3_multipart import Parts

SMALL = 8 << 20
"""Objects up to this size need one request. Larger ones are sent in parts of this size (at most 10,000 parts)."""


class Bucket(Protocol):
    """The operations of the store that an upload needs."""

    def head(self, path: str) -> Entry | None: ...

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry: ...

    def open_parts(self, path: str, etag: str | None) -> "Parts": ...


class BucketUpload:
    """An object being written. close() publishes it, if the object that it replaces has not changed meanwhile.

    Args:
        store: bucket that receives the object.
        path: path of the object.
    """

    def __init__(self, store: Bucket, path: str) -> None:
        self._store, self._path = store, path
        before = store.head(path)
        self._before = before.etag if before else None
        self._pending = bytearray()
        self._size = 0
        self._parts: Parts | None = None

    def write(self, data: bytes) -> None:
        self._pending += data
        while len(self._pending) > SMALL:
            if self._parts is None:
                self._parts = self._store.open_parts(self._path, self._before)
            with memoryview(self._pending) as view:
                part = bytes(view[:SMALL])
            del self._pending[:SMALL]
            self._size += len(part)
            self._parts.send(part)

    def close(self) -> Entry:
        last = bytes(self._pending)
        self._pending.clear()
        if self._parts is None:
            return self._store.put_if(self._path, last, self._before)
        if last:
            self._parts.send(last)
        etag = self._parts.complete_upload()
        self._parts = None
        return Entry(self._path, self._size + len(last), etag)

    def abort(self) -> None:
        self._pending.clear()
        if self._parts is not None:
            self._parts.abort()
            self._parts = None
