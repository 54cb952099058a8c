"""Objects and their sha256: of one that lies there, and of one that is being written."""

import hashlib
from collections.abc import Callable

from gristmill.lake.store.protocol import Entry, Store, Upload


def sha256_of(store: Store, path: str) -> str:
    """Reads an object whole.

    Raises:
        StoreError: it is not there, or the lake does not answer.
    """
    digest = hashlib.sha256()
    for piece in store.stream(path):
        digest.update(piece)
    return digest.hexdigest()


class HashedUpload:
    """An object that is hashed while it is written.

    Args:
        upload: takes the bytes.
        done: is told the sha256 and the entry once the object is there.
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
        """Leaves nothing behind."""
        self._upload.abort()
