"""A lake in a folder. Objects are files; a rename makes each appear when it is complete."""

import errno
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import groupby, islice
from pathlib import Path

from gristmill.errors import Conflict, StoreError
from gristmill.lake.fence import check_fence, check_still, is_fenced
from gristmill.lake.store.disk.file_lock import is_steady, open_locked
from gristmill.lake.store.disk.followed_links import CircularLink, FollowedLinks
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.disk.os_errors import raise_store_errors
from gristmill.lake.store.disk.real_folders import RealFolders
from gristmill.lake.store.disk.unfinished import UnfinishedFile, UnfinishedFiles
from gristmill.lake.store.endpoint import absolute_path
from gristmill.lake.store.plain_files import NoFile, Tell, Unlisted, file_status, is_folder, open_plain, sorted_items
from gristmill.lake.store.protocol import (
    DELETE_BATCH,
    PIECE,
    Entry,
    NoFolder,
    ObjectVersion,
    UnfinishedUpload,
    check_path,
    check_prefix,
)

INCOMING = ".incoming"
"""Folder of unfinished files: see gristmill.lake.store.disk.unfinished."""

LOCK = ".lock"
"""Every compare-and-swap locks this file."""

LASTING = 1 << 20
"""Files of this size or more, and ledgers, are synced to the disk before their rename (docs/internals/decisions.md)."""

ANY = "*"
"""In place of an etag: any object, or none."""


def _file_etag(status: os.stat_result) -> str:
    return f"{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ino:x}"


def _file_entry(path: str, status: os.stat_result) -> Entry:
    return Entry(path, status.st_size, _file_etag(status), status.st_ctime_ns)


class _FileUpload:
    """A file in `.incoming`. close() renames it to its path, if the object there still has the etag `before`."""

    def __init__(
        self, store: "FolderStore", path: str, before: str | None, like: OldFile | None = None, *, lasting: bool = False
    ) -> None:
        self._store, self._path, self._before, self._lasting = store, path, before, lasting
        with raise_store_errors(path):
            self._file = store.new_incoming(like)
        self._open = True

    def write(self, data: bytes) -> None:
        try:
            with raise_store_errors(self._path):
                self._file.write(data)
        except StoreError:
            self.abort()
            raise

    def put(self, data: bytes) -> Entry:
        self.write(data)
        return self.close()

    def close(self) -> Entry:
        try:
            with raise_store_errors(self._path):
                if self._lasting or os.fstat(self._file.fd).st_size >= LASTING:
                    os.fsync(self._file.fd)
                with self._store.hold_unchanged(self._path, self._before):
                    self._file.place(self._path)
                    status = os.fstat(self._file.fd)  # after the rename, which changes the ctime
        except StoreError:
            self.abort()
            raise
        self._close_file()
        return _file_entry(self._path, status)

    def abort(self) -> None:
        if self._open:
            self._file.remove_unrenamed()
            self._close_file()

    def _close_file(self) -> None:
        self._open = False
        self._file.close()


class FolderStore:
    """A Store in a folder, on one machine or on a shared file system with POSIX locks and atomic rename.

    Args:
        root: its path.
        own: the folder below it that has the lock and the unfinished files; empty: the root itself.
        foreign: whether it holds other people's files, which are read through all links. In a lake only raw data are.
    """

    def __init__(self, root: str, own: str = "", *, foreign: bool = False) -> None:
        self._root = absolute_path(Path(root))
        self._own, above = own, f"{own}/" if own else ""
        self._incoming, self._lock = f"{above}{INCOMING}", f"{above}{LOCK}"
        self._folders = RealFolders(str(self._root), foreign=foreign)
        self._unfinished = UnfinishedFiles(self._folders, self._incoming)

    @property
    def url(self) -> str:
        return str(self._root)

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        with raise_store_errors(prefix):
            try:
                top = self._top_folder_path(prefix)
            except NoFile as error:
                if tell is None:
                    raise
                tell(Unlisted(error.path, error.reason, hides=True))
                return
            behind = after.removeprefix(prefix).split("/") if after else []
            yield from self._walk_folder_entries(top, prefix, tell, behind, FollowedLinks())

    def _top_folder_path(self, prefix: str) -> str:
        if not self._root.is_dir():
            raise NoFolder(f"{self._root}: there is no lake (no such folder)")
        folder = check_prefix(prefix).rstrip("/")
        self._folders.check(folder)
        return str(self._root / folder)

    def folders(self, prefix: str) -> Iterator[str]:
        with raise_store_errors(prefix):
            try:
                items = sorted(os.scandir(self._top_folder_path(prefix)), key=lambda item: item.name)
            except (FileNotFoundError, NotADirectoryError):
                return
            for item in items:
                path = f"{prefix}{item.name}"
                if path == self._incoming or not is_folder(item):
                    continue
                if item.is_symlink() and not self._folders.is_followed(path):
                    raise self._folders.link_at(path)
                yield f"{path}/"

    def _walk_folder_entries(
        self, folder: str, prefix: str, tell: Tell | None, behind: Sequence[str], links: FollowedLinks
    ) -> Iterator[Entry]:
        """Entries folder by folder, in the order of names, after the path with the parts `behind` below `folder`."""
        for item in sorted_items(folder, prefix, tell):
            if behind and (item.name < behind[0] or (item.name == behind[0] and len(behind) == 1)):
                continue
            path = f"{prefix}{item.name}"
            opened, followed = item.path, links
            if item.is_symlink():
                try:
                    opened, followed = self._follow_link(item, path, folder, links)
                except NoFile as error:
                    if tell is None:
                        raise
                    tell(Unlisted(path, error.reason, hides=True, circle=isinstance(error, CircularLink)))
                    continue
            if is_folder(item):
                if path != self._incoming:
                    below = behind[1:] if behind and item.name == behind[0] else ()
                    yield from self._walk_folder_entries(opened, f"{path}/", tell, below, followed)
                continue
            status = file_status(item, path, tell)
            if status is not None and (path != self._lock or status.st_size):  # a lock has no bytes: other files do
                yield _file_entry(path, status)

    def _follow_link(
        self, item: "os.DirEntry[str]", path: str, folder: str, links: FollowedLinks
    ) -> tuple[str, FollowedLinks]:
        """What a link leads to, as a path in the file system, and the links that have led there. Raises: NoFile."""
        if not self._folders.is_followed(path):
            raise self._folders.link_at(path)
        return links.follow_link(path, folder, item.name) if is_folder(item) else (item.path, links)

    def head(self, path: str) -> Entry | None:
        with raise_store_errors(path):
            try:
                with self._folders.opened_beside(check_path(path)) as (folder, name, follows):
                    status = os.stat(name, dir_fd=folder, follow_symlinks=follows)
            except (FileNotFoundError, NotADirectoryError):
                return None
        if stat.S_ISLNK(status.st_mode):
            raise self._folders.link_at(path)
        return None if stat.S_ISDIR(status.st_mode) else _file_entry(path, status)

    @contextmanager
    def _open_for_reading(self, path: str) -> Iterator[io.FileIO]:
        """The file of an object, for reading.

        Raises:
            NoFile: it is no plain file, or a link that is not followed.
            OSError: it cannot be opened.
        """
        with self._folders.opened_beside(check_path(path)) as (folder, name, follows):
            try:
                file = open_plain(name, path, folder, follows=follows)
            except OSError as error:
                if error.errno == errno.ELOOP and not follows:
                    raise self._folders.link_at(path) from None
                raise
        with file:
            yield file

    def read(self, path: str) -> bytes:
        tagged = self.read_tagged(path)
        if tagged is None:
            raise StoreError(f"{path}: no such object in {self.url}")
        return tagged[0]

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        with raise_store_errors(path):
            try:
                with self._open_for_reading(path) as file:
                    return file.read(), _file_etag(os.fstat(file.fileno()))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_range(self, path: str, start: int, end: int) -> bytes:
        with raise_store_errors(path), self._open_for_reading(path) as file:
            data = os.pread(file.fileno(), end - start, start)
        if len(data) != end - start:
            raise StoreError(f"{path}: it has no bytes {start} to {end}: it was replaced meanwhile; try again")
        return data

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        with raise_store_errors(path), self._open_for_reading(path) as file:
            opened = os.fstat(file.fileno())
            file.seek(start)
            while piece := file.read(PIECE):
                yield piece
            entry = _file_entry(path, os.fstat(file.fileno()))
            if version is None or version.same(entry):
                return
            if not version.same_stamp(entry) or not is_steady(file.fileno(), opened, self._root / path):
                raise StoreError(f"{path}: replaced while it was read; try again")

    def upload(self, path: str, like: OldFile | None = None) -> _FileUpload:
        before = self.head(path)
        return _FileUpload(self, path, before.etag if before else None, like)

    def put(self, path: str, data: bytes) -> Entry:
        return _FileUpload(self, check_path(path), ANY).put(data)

    def put_if(self, path: str, data: bytes, etag: str | None, like: OldFile | None = None) -> Entry:
        return _FileUpload(self, check_path(path), etag, like, lasting=True).put(data)

    @contextmanager
    def hold_unchanged(self, path: str, etag: str | None) -> Iterator[None]:
        """Keeps other conditional writers out, if the file has not changed.

        Args:
            path: path of the object.
            etag: etag that the object must have; None: there must be none; ANY: no condition, and no lock without a
                fence.

        Raises:
            Conflict: the object has another etag.
            GristmillError: the fence lets nothing be written any more.
        """
        if etag == ANY and not is_fenced():
            yield
            return
        with self._lock_store():
            check_fence()
            now = self.head(path)
            if etag not in {ANY, now.etag if now else None}:
                raise Conflict(f"{path}: another run wrote it meanwhile; run again")
            yield

    @contextmanager
    def _lock_store(self) -> Iterator[None]:
        lock = self._open_lock()
        try:
            yield
        finally:
            os.close(lock)

    def _open_lock(self) -> int:
        with self._folders.open_folder(self._own, make=True) as own:
            try:
                return open_locked(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, folder=own)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise self._folders.link_at(self._lock) from None
                raise

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        folders = groupby((check_path(path) for path in paths), lambda path: path.rpartition("/")[0])
        emptied: set[str] = set()
        for folder, objects in folders:
            with raise_store_errors(folder):
                self._delete_from(folder, objects, still)
            emptied.add(folder)
        for folder in emptied:
            self._remove_empty_folders(folder)

    def _delete_from(self, folder: str, paths: Iterator[str], still: Callable[[], bool] | None) -> None:
        with suppress(FileNotFoundError, NotADirectoryError), self._folders.open_folder(folder) as opened:
            while batch := list(islice(paths, DELETE_BATCH)):
                with self._lock_store() if still else nullcontext():
                    check_still(batch[0], still)
                    for path in batch:
                        with raise_store_errors(path), suppress(FileNotFoundError):
                            os.unlink(path.rpartition("/")[2], dir_fd=opened)

    def _remove_empty_folders(self, folder: str) -> None:
        """Removes empty folders upwards: an object store has none, so a lake has none either."""
        while folder and self._folders.remove_empty(folder):
            folder = folder.rpartition("/")[0]

    def why_bytes_stay(self, path: str) -> str:
        """The answer of RealFolders.why_bytes_stay()."""
        with raise_store_errors(path):
            return self._folders.why_bytes_stay(path)

    @contextmanager
    def old_file(self, path: str) -> Iterator[OldFile]:
        """The file of an object that is then replaced or removed, held open. See OldFile."""
        with raise_store_errors(path), self._open_for_reading(path) as file:
            yield OldFile(file.fileno(), (self._root / path).parent)

    def new_incoming(self, like: OldFile | None = None) -> UnfinishedFile:
        """A new file in `.incoming`. See UnfinishedFiles.new()."""
        return self._unfinished.new(like)

    def sweep(self) -> None:
        with raise_store_errors(INCOMING):
            self._unfinished.sweep()

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        with raise_store_errors(INCOMING):
            return [
                UnfinishedUpload(f"{self._incoming}/{name}", "", began) for name, began in self._unfinished.list_files()
            ]

    def abort(self, upload: UnfinishedUpload) -> None:
        """Removes the file, unless its writer lives."""
        with raise_store_errors(upload.path):
            self._unfinished.remove_dead_file(upload.path.removeprefix(f"{self._incoming}/"))
