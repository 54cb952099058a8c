"""Store: the few verbs over a lake, the same for a folder and for a bucket.

All code above speaks to this protocol alone. Paths are relative to the lake's root, with '/'.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from gristmill.errors import StoreError

PIECE = 1 << 20
"""Bytes a piece of a stream has at the most."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One object as a listing shows it; the etag changes whenever the object is replaced."""

    path: str
    size: int
    etag: str


class Upload(Protocol):
    """An object being written: it appears under its name, whole, at close(), and never otherwise.

    It replaces the object that was there at upload(), or none, and no other. So a run that is overtaken while it
    writes changes nothing of the newer one's, if it asked for its claim in between.
    """

    def write(self, data: bytes) -> None:
        """Adds bytes."""

    def close(self) -> Entry:
        """Publishes the object.

        Raises:
            Conflict: another was written under this name since upload().
        """

    def abort(self) -> None:
        """Leaves nothing behind; harmless after close()."""


class Lister(Protocol):
    """What can be asked which objects there are: a store, or a report about one."""

    @property
    def url(self) -> str:
        """The root of what is listed."""

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """See Store."""


class Store(Protocol):
    """What a lake must be able to do. Every method raises StoreError when the lake does not answer."""

    @property
    def url(self) -> str:
        """The lake's root, as open_store() takes it."""

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """All objects whose path begins with `prefix` (a folder, with its closing slash), in the store's own order.

        With `after`, the path of an object, it goes on behind that object in that order. Some S3 servers are wrong
        there (docs/decisions.md): who goes on must know which object comes next, and see that it does.
        A listing that fails is a StoreError, never an empty folder.
        """

    def folders(self, prefix: str) -> Iterator[str]:
        """The folders directly below `prefix`, each whole and with its closing slash; what lies in them is not read."""

    def head(self, path: str) -> Entry | None:
        """The object's entry, or None if there is no such object."""

    def read(self, path: str) -> bytes:
        """The whole object; StoreError if there is none."""

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """The whole object and its etag, or None if there is none."""

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of an object; StoreError if it has not all of them."""

    def stream(self, path: str) -> Iterator[bytes]:
        """The object in pieces of at most a few MiB."""

    def upload(self, path: str) -> Upload:
        """Begins an object of unknown length."""

    def put(self, path: str, data: bytes) -> Entry:
        """Writes a whole object."""

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        """Writes a whole object if the one there still has this etag (None: if there is none).

        Raises:
            Conflict: it has another one.
        """

    def delete(self, paths: Iterable[str]) -> None:
        """Removes objects; those that do not exist are passed over."""

    def sweep(self) -> None:
        """Removes what killed writers left where nobody looks."""


def put_unless_same(store: Store, path: str, data: bytes) -> None:
    """Writes a small object, unless the same bytes are there already: then it keeps its etag."""
    found = store.read_tagged(path)
    if found is None or found[0] != data:
        store.put(path, data)


def check_path(path: str) -> str:
    """The path, or a StoreError if it could climb out of the lake."""
    parts = path.split("/")
    if not path or "\x00" in path or "\\" in path or any(p in {"", ".", ".."} for p in parts):
        raise StoreError(f"{path!r} is not the path of an object in the lake")
    return path


def check_prefix(prefix: str) -> str:
    """The prefix of a listing (empty, or a folder with its closing slash), or a StoreError if it could climb out."""
    if prefix:
        check_path(prefix.removesuffix("/"))
    return prefix
