"""The store of adopted files: other people's files in any folder or bucket. They are read, never written or deleted."""

import os

import msgspec

from gristmill.errors import StoreError
from gristmill.lake.store.credentials import bucket_variables
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import ReadOnly, Store

ADOPT_AGAIN = "adopt it again (make its asset again), or restore the file"
"""What to do about an adopted file that has changed since it was read."""


class Root(msgspec.Struct, frozen=True):
    """Where adopted files are. It holds no secrets, and is not part of a fingerprint.

    Attributes:
        url: a folder, or `s3://bucket/prefix`, without a slash at its end.
        options: options of the bucket client, such as endpoint and region.
        credentials: beginning of the names of the environment variables with its credentials; empty: as the lake's.
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
        return open_store(root.url, root.options, Access(anonymous=True), foreign=True)
    if not root.credentials:
        return open_store(root.url, root.options, foreign=True)
    given = bucket_variables(root.credentials, f"the adopted root {root.url}", os.environ)
    access = Access(root.credentials, key=given.key, secret=given.secret, token=given.token)
    return open_store(root.url, root.options, access, foreign=True)


class AdoptedFiles(ReadOnly):
    """The files of a root by their whole addresses, such as `/data/dolma/documents/000.json.gz`; messages name these.

    It is a Store that only reads, and lists nothing: ledgers name the files.

    Args:
        root: root of the files.
        size: the size that a file must have to be read; None: any.
    """

    words = "adopted files are"

    def __init__(self, root: Root, size: int | None = None) -> None:
        super().__init__(open_root(root), root.url)
        self._lead, self._size = f"{root.url}/", size

    def path_of(self, path: str) -> str:
        """The path below the root."""
        return path.removeprefix(self._lead)

    def readable(self, path: str) -> str:
        """The path below the root of a file that has the size that it had when it was adopted.

        Raises:
            StoreError: it is missing, or has another size.
        """
        below = self.path_of(path)
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
