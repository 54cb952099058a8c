"""The sha256 of objects: of an existing one, and of one that is being written; and other hashes of bytes."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Self

from gristmill.lake.store.protocol import Entry, ObjectVersion, Store


def hash_object(store: Store, path: str) -> str:
    """The sha256 (hex) of an object; reads all of it.

    Args:
        store: store of the object.
        path: path of the object.

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
        store: store that receives the object.
        path: path of the object.
        done: function that is called with the sha256 (hex) and the entry when the object is published.
    """

    def __init__(self, store: Store, path: str, done: Callable[[str, Entry], None]) -> None:
        self._store, self._path, self._upload, self._done = store, path, store.upload(path), done
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


class Uploads:
    """Objects that are written together, such as those of a part. Each is hashed, and recorded when it is published.

    In a `with` block: what is not published at the end of the block is aborted.

    Args:
        store: store that receives the objects.
        kind: class of the uploads.

    Attributes:
        objects: (sha256 (hex), size in bytes) of each published object, by its path.
        versions: version of each published object, by its path.
    """

    def __init__(self, store: Store, kind: type[HashedUpload] = HashedUpload) -> None:
        self._store, self._kind = store, kind
        self._open: dict[str, HashedUpload] = {}
        self.objects: dict[str, tuple[str, int]] = {}
        self.versions: dict[str, ObjectVersion] = {}

    def open(self, path: str) -> HashedUpload:
        """Opens an object for writing.

        Args:
            path: path of the object.

        Returns:
            The upload. Its close() publishes the object.
        """

        def done(sha256: str, entry: Entry) -> None:
            del self._open[path]
            self.objects[path], self.versions[path] = (sha256, entry.size), entry.version

        upload = self._open[path] = self._kind(self._store, path, done)
        return upload

    def sha256(self, folder: str = "") -> dict[str, str]:
        """The sha256 (hex) of each published object, by its path below a folder with a closing slash."""
        return {path.removeprefix(folder): sha256 for path, (sha256, _) in self.objects.items()}

    def abort(self) -> None:
        """Aborts the objects that are not published."""
        for upload in self._open.values():
            upload.abort()

    def __enter__(self) -> Self:
        """The uploads themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Aborts what is not published."""
        self.abort()


class Hashes:
    """Hashes bytes by sha256, and by other algorithms too.

    Args:
        algorithms: the others; names of hashlib.

    >>> hashes = Hashes(["md5"])
    >>> hashes.update(b"a")
    >>> hashes.hashes_by_algorithm()["md5"], hashes.hashes_by_algorithm()["sha256"] == hashes.sha256()
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

    def hashes_by_algorithm(self) -> dict[str, str]:
        """The hex hashes of the bytes so far, by algorithm."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}
