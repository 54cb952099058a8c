"""The store of adopted files: other people's files in any folder or bucket. They are read, never written or deleted."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import msgspec

from gristmill.errors import StoreError
from gristmill.lake.store.credentials import bucket_variables
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.open import open_store
from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store, UnfinishedUpload, Upload

ADOPT_AGAIN = "adopt it again (make its asset again), or restore the file"
"""What to do about an adopted file that has changed since it was read."""


class Root(msgspec.Struct, frozen=True):
    """Where adopted files are. It holds no secrets, and is not part of a fingerprint.

    Attributes:
        url: a folder, or `s3://bucket/prefix`, without a slash at its end.
        options: of the bucket client, such as endpoint and region.
        credentials: how the names of the environment variables with its credentials begin; empty: as the lake's.
        anonymous: whether the bucket is read without credentials.
    """

    url: str
    options: dict[str, str] = {}
    credentials: str = ""
    anonymous: bool = False


def open_root(root: Root) -> Store:
    """The store of a root's files, by their paths below the root.

    Raises:
        RecipeError: a variable with credentials is missing from the environment.
    """
    if root.anonymous:
        return open_store(root.url, root.options, Access(anonymous=True))
    if not root.credentials:
        return open_store(root.url, root.options)
    given = bucket_variables(root.credentials, f"the adopted root {root.url}", os.environ)
    access = Access(root.credentials, key=given.key, secret=given.secret, token=given.token)
    return open_store(root.url, root.options, access)


class AdoptedFiles:
    """The files of a root by their whole addresses, such as `/data/dolma/documents/000.json.gz`; messages name these.

    It is a Store that only reads. Methods that list, write or delete raise StoreError: ledgers name the files, and
    nothing is written at a root, so no upload is ever unfinished.

    Args:
        root: where the files are.
        size: the size that a file must have to be read; None: any.
    """

    def __init__(self, root: Root, size: int | None = None) -> None:
        self._store, self._lead, self._size = open_root(root), f"{root.url}/", size
        self.url = root.url

    def _below(self, path: str) -> str:
        return path.removeprefix(self._lead)

    def _check(self, path: str) -> str:
        """The path below the root of a file that has the size that it had when it was adopted.

        Raises:
            StoreError: it is missing, or has another size.
        """
        below = self._below(path)
        if self._size is None:
            return below
        entry = self._store.head(below)
        if entry is None:
            raise StoreError(f"{path}: this adopted file is missing, or its disk is not mounted; {ADOPT_AGAIN}")
        if entry.size != self._size:
            raise StoreError(
                f"{path}: changed since it was adopted: it has {entry.size:,} bytes, but had {self._size:,};"
                f" {ADOPT_AGAIN}"
            )
        return below

    def head(self, path: str) -> Entry | None:
        return self._store.head(self._below(path))

    def read(self, path: str) -> bytes:
        return self._store.read(self._check(path))

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        return self._store.read_tagged(self._below(path))

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._store.read_range(self._check(path), start, end)

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        return self._store.stream(self._check(path), version, start)

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        return self._refuse(prefix or after or str(tell))

    def folders(self, prefix: str) -> Iterator[str]:
        return self._refuse(prefix)

    def upload(self, path: str) -> Upload:
        return self._refuse(path)

    def put(self, path: str, data: bytes) -> Entry:
        return self._refuse(path, data)

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        return self._refuse(path, data, etag)

    def delete(self, paths: Iterable[str]) -> None:
        self._refuse(*paths)

    def sweep(self) -> None:
        """Does nothing, because no upload is ever unfinished."""

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        return ()

    def abort(self, upload: UnfinishedUpload) -> None:
        """Does nothing; see sweep()."""

    def _refuse(self, *what: object) -> NoReturn:
        raise StoreError(f"{self.url}: adopted files are only read ({what[0] if what else 'nothing'!r:.200})")
