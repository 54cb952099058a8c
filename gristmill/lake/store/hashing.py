"""The sha256 of objects: of an existing one, and of one that is being written; and other hashes of bytes."""

import hashlib
from collections.abc import Callable, Iterable

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

    def sha256(self) -> str:
        """The hex sha256 of the bytes so far."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Publishes the object."""
        entry = self._upload.close()
        self._done(self.sha256(), entry)

    def abort(self) -> None:
        """Removes everything written so far."""
        self._upload.abort()


class Hashes:
    """Hashes bytes by sha256, and by other algorithms too.

    Args:
        algorithms: the others; names of hashlib.

    >>> hashes = Hashes(["md5"])
    >>> hashes.update(b"a")
    >>> hashes.found()["md5"], hashes.found()["sha256"] == hashes.sha256()
    ('0cc175b9c0f1b6a831c399e269772661', True)
    """

    def __init__(self, algorithms: Iterable[str] = ()) -> None:
        self._digests = {name: hashlib.new(name, usedforsecurity=False) for name in {"sha256", *algorithms}}

    def update(self, data: bytes) -> None:
        """Takes the next bytes."""
        for digest in self._digests.values():
            digest.update(data)

    def sha256(self) -> str:
        """The hex sha256 of the bytes so far."""
        return self._digests["sha256"].hexdigest()

    def found(self) -> dict[str, str]:
        """The hex hashes of the bytes so far, by algorithm."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}
