"""Store: the operations on the objects of a lake, the same for a folder and for a bucket.

All other code uses this protocol only. Paths are relative to the root of the lake, with '/'.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, NoReturn, Protocol

import msgspec

from gristmill.errors import StoreError
from gristmill.lake.store.plain_files import Tell

PIECE = 1 << 20
"""Most bytes of one piece of a stream."""

DELETE_BATCH = 1000
"""Most objects that are removed at once."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One object as a listing shows it.

    Attributes:
        path: path of the object, relative to the lake's root.
        size: size in bytes.
        etag: tag that changes whenever the object is replaced.
        changed: time of the last change of the file or its attributes (ctime), in nanoseconds since 1970; 0 in a
            bucket. A file that was rewritten in place, its time set back, has the same size and etag, but
            another ctime.
    """

    path: str
    size: int
    etag: str
    changed: int = 0

    @property
    def version(self) -> "ObjectVersion":
        """The version of this object, which recognizes it later."""
        return ObjectVersion(self.size, self.etag, self.changed)


class ObjectVersion(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is recorded of an object when it was written or read. Attributes: as in Entry.

    `changed` is 0 in a bucket, and in records of Gristmill 0.1.
    """

    size: int
    etag: str
    changed: int = 0

    def same_stamp(self, entry: Entry) -> bool:
        """Whether size and etag are those of an entry."""
        return (self.size, self.etag) == (entry.size, entry.etag)

    def same(self, entry: Entry) -> bool:
        """Whether an entry is surely this object. If not, only its sha256 can tell: a new name (a hard link) or other
        rights also change the ctime.
        """
        return self.same_stamp(entry) and self.changed in {0, entry.changed}


class UnfinishedUpload(msgspec.Struct, frozen=True, gc=False):
    """An upload that was begun, and neither completed nor aborted. It costs storage, but is no object.

    Attributes:
        path: path of the object that it was to become; in a folder, of the unfinished file in `.incoming`.
        id: the bucket's name for it; in a folder empty.
        began: Unix time of its begin, in seconds.
    """

    path: str
    id: str
    began: float


class Upload(Protocol):
    """An object being written. It appears under its path at close(), complete, and at no other time.

    close() replaces only the object that existed at upload(). If none existed, it creates the object only if there is
    still none. So a run that checks its claim after upload() never overwrites an object of a newer run.
    """

    def write(self, data: bytes) -> None:
        """Appends bytes."""

    def close(self) -> Entry:
        """Publishes the object.

        Returns:
            Its entry.

        Raises:
            Conflict: another writer wrote an object to this path since upload().
        """

    def abort(self) -> None:
        """Removes everything written so far; has no effect after close()."""


class NoFolder(StoreError):  # noqa: N818 - the tree reads as English
    """The folder at the root of a store does not exist. Its disk may not be mounted."""


class Lister(Protocol):
    """Lists objects: a store, or a report about a store."""

    @property
    def url(self) -> str:
        """The root of the listed objects."""

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        """The entries of objects. Args: as in Store.list()."""


class Store(Protocol):
    """The operations that a lake must support. Every method raises StoreError if the lake does not answer."""

    @property
    def url(self) -> str:
        """The lake's root, as open_store() takes it."""

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        """The entries of all objects below a folder, in the store's own order.

        A listing that fails raises StoreError; it never looks like an empty folder.

        Args:
            prefix: the folder, with its closing slash; "" is the whole lake.
            after: path of an object; the listing begins after it. Some S3 servers begin at a wrong place
                (docs/internals/decisions.md). So the caller must know the path of the next object, and compare it.
            tell: function that takes items that cannot be objects, such as a FIFO, and items that cannot be read; None:
                they are an error. A bucket has only objects.
        """

    def folders(self, prefix: str) -> Iterator[str]:
        """The paths of the folders directly below `prefix`, with their closing slashes. Their contents are not read."""

    def head(self, path: str) -> Entry | None:
        """The object's entry, or None if there is no such object."""

    def read(self, path: str) -> bytes:
        """All bytes of the object; StoreError if there is no such object."""

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """All bytes of the object and its etag, or None if there is no such object."""

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of an object.

        Args:
            path: path of the object.
            start: the first byte.
            end: the byte after the last one.

        Raises:
            StoreError: there is no such object, or it is shorter.
        """

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        """The object in pieces of at most `PIECE` bytes.

        Args:
            path: path of the object.
            version: the version that a listing has shown; None: whatever is there.
            start: the byte to begin at.

        Raises:
            StoreError: there is no such object, or it is not of this version, told at the last piece at the latest.
        """

    def upload(self, path: str) -> Upload:
        """An upload: writes an object of unknown size."""

    def put(self, path: str, data: bytes) -> Entry:
        """Writes an object in one call, over any object that exists.

        Args:
            path: path of the object.
            data: all its bytes.

        Returns:
            Its entry.
        """

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        """Writes an object in one call, if the existing object still has an etag.

        Args:
            path: path of the object.
            data: all its bytes.
            etag: etag of the existing object; None: there must be no such object.

        Returns:
            The new entry.

        Raises:
            Conflict: the existing object has another etag, or there is one though there must be none.
        """

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        """Removes objects; paths without an object are ignored.

        Args:
            paths: the paths of the objects.
            still: a function that says whether the objects may still be removed; None: they always may. A folder asks
                it under its lock. A bucket is asked before each request, also before one that is sent again: by then
                the server may have removed them though its answer was lost, and others may have written new ones.

        Raises:
            Conflict: the function said no. Some of the objects may be gone.
        """

    def sweep(self) -> None:
        """Removes unfinished objects of writers that are known to be dead."""

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        """The unfinished uploads below the lake's root whose writers may be dead or alive."""

    def abort(self, upload: UnfinishedUpload) -> None:
        """Aborts an unfinished upload; has no effect if it has ended meanwhile."""


_NO_NAMES = frozenset({"", ".", ".."})


def check_path(path: str) -> str:
    """The path of an object, unchanged.

    Raises:
        StoreError: the path could leave the lake.

    >>> check_path("sources/../../etc/passwd")
    Traceback (most recent call last):
    ...
    gristmill.errors.StoreError: 'sources/../../etc/passwd' is not the path of an object in the lake
    """
    if not path or "\x00" in path or "\\" in path or not _NO_NAMES.isdisjoint(path.split("/")):
        raise StoreError(f"{path!r} is not the path of an object in the lake")
    return path


def check_prefix(prefix: str) -> str:
    """The prefix of a listing, unchanged: empty, or a folder with its closing slash.

    Raises:
        StoreError: the prefix could leave the lake.
    """
    if prefix:
        check_path(prefix.removesuffix("/"))
    return prefix


class ReadOnly:
    """A Store that reads the files of another store. Methods that list, write or delete raise StoreError.

    Nothing is written, so no upload is ever unfinished.

    Args:
        store: store that has the files.
        url: the address of the view, for messages.

    Attributes:
        words: name of what is only read, for messages.
    """

    words: ClassVar[str] = "this folder is"

    def __init__(self, store: Store, url: str) -> None:
        self._store, self.url = store, url

    def path_of(self, path: str) -> str:
        """The path of a file in the other store, by its path in the view."""
        return path

    def readable(self, path: str) -> str:
        """The same, of a file whose bytes are wanted. A view may raise StoreError if the file is not as it expects."""
        return self.path_of(path)

    def head(self, path: str) -> Entry | None:
        return self._store.head(self.path_of(path))

    def read(self, path: str) -> bytes:
        return self._store.read(self.readable(path))

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        return self._store.read_tagged(self.path_of(path))

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._store.read_range(self.readable(path), start, end)

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        return self._store.stream(self.readable(path), version, start)

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

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:  # noqa: ARG002 - see Store
        self._refuse(*paths)

    def sweep(self) -> None:
        """Does nothing, because no upload is ever unfinished."""

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        return ()

    def abort(self, upload: UnfinishedUpload) -> None:
        """Does nothing; see sweep()."""

    def _refuse(self, *what: object) -> NoReturn:
        raise StoreError(f"{self.url}: {self.words} only read ({what[0] if what else 'nothing'!r:.200})")
