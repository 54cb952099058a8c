"""A lake in a folder. Objects are files; a rename makes each appear when it is complete."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gristmill.errors import Conflict, StoreError
from gristmill.lake.store.disk.file_lock import open_locked
from gristmill.lake.store.disk.unfinished import TRIES, UnfinishedFiles, make_folder
from gristmill.lake.store.links import InsideOnly
from gristmill.lake.store.plain_files import Tell, is_folder, open_plain, sorted_items, status_of
from gristmill.lake.store.protocol import (
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

_RIGHTS = "make the lake's folder readable and writable for this user"

ANY = "*"
"""In place of an etag: any object, or none."""


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Raises errors of the operating system as StoreErrors that name the path and the mend."""
    try:
        yield
    except OSError as error:
        mend = {
            errno.ENOSPC: "free some space and run again",
            errno.EDQUOT: "free some space and run again",
            errno.EACCES: _RIGHTS,
            errno.EPERM: _RIGHTS,
            errno.EROFS: "mount the lake's folder writable",
            errno.EFBIG: "raise the limit on file sizes, or make smaller shards",
            errno.ENOTDIR: "a file has the place of a folder; move the file away",
            errno.EISDIR: "a folder has the place of a file; move the folder away",
            errno.ELOOP: "a link leads to itself; remove the link",
            errno.ENOENT: "put it back, or run its asset again",
        }.get(error.errno or 0, "look at the file system, then run again")
        raise StoreError(f"{path}: {_other(error, path)}{error.strerror or error} ({mend})") from error


def _other(error: OSError, path: str) -> str:
    """The file that an error is about, if that is not the object itself: the lock, or an unfinished file."""
    file = error.filename2 or error.filename
    return "" if not isinstance(file, str) or file.rstrip("/").endswith(path.rstrip("/")) else f"{file}: "


def _etag(status: os.stat_result) -> str:
    return f"{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ino:x}"


def _entry(path: str, status: os.stat_result) -> Entry:
    return Entry(path, status.st_size, _etag(status), status.st_ctime_ns)


class _FileUpload:
    """A file in `.incoming`. close() renames it to its path, if the object there still has the etag `before`."""

    def __init__(self, store: "FolderStore", path: str, before: str | None, *, lasting: bool = False) -> None:
        self._store, self._path, self._before, self._lasting = store, path, before, lasting
        with _reported(path):
            self._temporary, self._fd = store.new_incoming()
        self._open = True

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            with _reported(self._path):
                while view:
                    view = view[os.write(self._fd, view) :]
        except StoreError:
            self.abort()
            raise

    def put(self, data: bytes) -> Entry:
        self.write(data)
        return self.close()

    def close(self) -> Entry:
        try:
            with _reported(self._path):
                if self._lasting or os.fstat(self._fd).st_size >= LASTING:
                    os.fsync(self._fd)
                with self._store.unchanged(self._path, self._before):
                    self._store.place_file(self._temporary, self._path)
                    status = os.fstat(self._fd)  # after the rename, which changes the ctime
        except StoreError:
            self.abort()
            raise
        self._shut()
        return _entry(self._path, status)

    def abort(self) -> None:
        if self._open:
            with suppress(FileNotFoundError):
                self._temporary.unlink()
            self._shut()

    def _shut(self) -> None:
        if self._open:
            self._open = False
            os.close(self._fd)


class FolderStore:
    """A Store in a folder, on one machine or on a shared file system with POSIX locks and atomic rename.

    Args:
        root: its path.
        own: the folder below it that has the lock and the unfinished files; empty: the root itself.
    """

    def __init__(self, root: str, own: str = "") -> None:
        self._root = Path(root).absolute()
        above = f"{own}/" if own else ""
        self._incoming, self._lock = f"{above}{INCOMING}", f"{above}{LOCK}"
        self._unfinished = UnfinishedFiles(self._root / self._incoming)
        self._text = f"{str(self._root).rstrip('/')}/"
        self._inside = InsideOnly(str(self._root))

    @property
    def url(self) -> str:
        return str(self._root)

    def _file(self, path: str) -> str:
        return f"{self._text}{check_path(path)}"  # 100,000 raw objects: Path objects would be slow

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        with _reported(prefix):
            top = self._top(prefix)
            behind = after.removeprefix(prefix).split("/") if after else []
            yield from self._walk(top, prefix, tell, behind)

    def _top(self, prefix: str) -> str:
        if not self._root.is_dir():
            raise NoFolder(f"{self._root}: there is no lake (no such folder)")
        return str(self._root / check_prefix(prefix)).rstrip("/") if prefix else str(self._root)

    def folders(self, prefix: str) -> Iterator[str]:
        with _reported(prefix):
            try:
                names = sorted(item.name for item in os.scandir(self._top(prefix)) if is_folder(item))
            except (FileNotFoundError, NotADirectoryError):
                return
            yield from (f"{prefix}{name}/" for name in names if f"{prefix}{name}" != self._incoming)

    def _walk(self, folder: str, prefix: str, tell: Tell | None, behind: Sequence[str] = ()) -> Iterator[Entry]:
        """Entries folder by folder, in the order of names, after the path with the parts `behind` below `folder`."""
        for item in sorted_items(folder, prefix, tell):
            if behind and (item.name < behind[0] or (item.name == behind[0] and len(behind) == 1)):
                continue
            path = f"{prefix}{item.name}"
            if path == self._lock:
                continue
            if is_folder(item):
                if path != self._incoming:
                    below = behind[1:] if behind and item.name == behind[0] else ()
                    yield from self._walk(item.path, f"{path}/", tell, below)
                continue
            status = status_of(item, path, tell)
            if status is not None:
                yield _entry(path, status)

    def head(self, path: str) -> Entry | None:
        with _reported(path):
            try:
                status = os.stat(self._file(path))  # noqa: PTH116 - see _file
            except (FileNotFoundError, NotADirectoryError):
                return None
        return None if stat.S_ISDIR(status.st_mode) else _entry(path, status)

    def read(self, path: str) -> bytes:
        tagged = self.read_tagged(path)
        if tagged is None:
            raise StoreError(f"{path}: no such object in {self.url}")
        return tagged[0]

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        with _reported(path):
            try:
                with open_plain(self._file(path), path) as file:
                    return file.read(), _etag(os.fstat(file.fileno()))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_range(self, path: str, start: int, end: int) -> bytes:
        with _reported(path), open_plain(self._file(path), path) as file:
            data = os.pread(file.fileno(), end - start, start)
        if len(data) != end - start:
            raise StoreError(f"{path}: it has no bytes {start} to {end}: it was replaced meanwhile; try again")
        return data

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        with _reported(path), open_plain(self._file(path), path) as file:
            file.seek(start)
            while piece := file.read(PIECE):
                yield piece
            # The ctime tells of a file that lost its name too: another has it now, or none.
            if version is not None and not version.same(_entry(path, os.fstat(file.fileno()))):
                raise StoreError(f"{path}: replaced while it was read; try again")

    def upload(self, path: str) -> _FileUpload:
        before = self.head(path)
        return _FileUpload(self, path, before.etag if before else None)

    def put(self, path: str, data: bytes) -> Entry:
        return _FileUpload(self, check_path(path), ANY).put(data)

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        return _FileUpload(self, check_path(path), etag, lasting=True).put(data)

    @contextmanager
    def unchanged(self, path: str, etag: str | None) -> Iterator[None]:
        """Keeps other conditional writers out, if the file has not changed.

        Args:
            path: of the object.
            etag: that the object must have; None: there must be none; ANY: no condition, and no lock.

        Raises:
            Conflict: the object has another etag.
        """
        if etag == ANY:
            yield
            return
        lock = open_locked(self._root / self._lock, os.O_RDWR | os.O_CREAT)
        try:
            now = self.head(path)
            if (now.etag if now else None) != etag:
                raise Conflict(f"{path}: another run wrote it meanwhile; run again")
            yield
        finally:
            os.close(lock)

    def delete(self, paths: Iterable[str]) -> None:
        emptied: set[str] = set()
        root = str(self._root)
        for path in paths:  # there may be 100,000 receipts: Path objects would be slow
            file = f"{root}/{check_path(path)}"
            self._inside.check(os.path.dirname(file))  # noqa: PTH120 - see above
            try:
                os.unlink(file)  # noqa: PTH108 - see above
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError:
                with _reported(path):
                    raise
            emptied.add(os.path.dirname(file))  # noqa: PTH120 - see above
        for folder in emptied:
            self._prune(Path(folder))

    def _prune(self, folder: Path) -> None:
        """Removes empty folders upwards: an object store has none, so a lake has none either."""
        while folder != self._root and self._root in folder.parents:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def new_incoming(self) -> tuple[Path, int]:
        """A new file in `.incoming`, locked until this process ends, and its descriptor.

        Raises:
            StoreError: no file can be created there.
        """
        return self._unfinished.new()

    def place_file(self, temporary: Path, path: str) -> None:
        """Renames a complete file to the path of its object.

        Args:
            temporary: the file in `.incoming`.
            path: of the object.
        """
        target = Path(self._file(path))
        self._inside.check(str(target.parent))
        for _ in range(TRIES):
            try:
                temporary.replace(target)
            except FileNotFoundError:  # the folder does not exist yet, or was just pruned
                make_folder(target.parent)
            else:
                return
        temporary.replace(target)

    def sweep(self) -> None:
        with _reported(INCOMING):
            self._unfinished.sweep()

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        with _reported(INCOMING):
            return [UnfinishedUpload(f"{self._incoming}/{name}", "", began) for name, began in self._unfinished.there()]

    def abort(self, upload: UnfinishedUpload) -> None:
        """Removes the file, unless its writer lives."""
        with _reported(upload.path):
            self._unfinished.remove(upload.path.removeprefix(f"{self._incoming}/"))
