"""The sha256 of objects: of an existing one, and of one that is being written."""

import hashlib
from collections.abc import Callable

from gristmill.lake.store.protocol import Entry, Store, Upload


def sha256_of(store: Store, path: str) -> str:
    """The sha256 (hex) of an object; reads all of it.

    Args:
        store: holds the object.
        path: of the object.

    Raises:
        StoreError: there is no such object, or the lake does not answer.
    """
    digest = hashlib.sha256()
    for piece in store.stream(path):
        digest.update(piece)
    return digest.hexdigest()


class HashedUpload:
    """An upload that hashes the object while it is written.

    Args:
        upload: receives the bytes.
        done: called with the sha256 (hex) and the entry when the object is published.
    """

    def __init__(self, upload: Upload, done: Callable[[str, Entry], None]) -> None:
        self._upload, self._done = upload, done
        self._digest = hashlib.sha256()

    def write(self, data: bytes, /) -> None:
        """Appends bytes."""
        self._digest.update(data)
        self._upload.write(data)

    def close(self) -> None:
        """Publishes the object."""
        entry = self._upload.close()
        self._done(self._digest.hexdigest(), entry)

    def abort(self) -> None:
        """Removes everything written so far."""
        self._upload.abort()
