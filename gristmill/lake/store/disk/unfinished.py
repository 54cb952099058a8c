"""UnfinishedFiles: files that are written under names of no meaning, and renamed when they are complete."""

import fcntl
import itertools
import os
from contextlib import suppress

from gristmill.errors import StoreError
from gristmill.lake.store.disk.file_lock import is_named
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.disk.real_folders import RealFolders

_TRIES = 100
"""Most attempts to create or rename a file while other processes remove its folder."""

_counter = itertools.count()


class UnfinishedFile:
    """A new file, locked until it is closed or this process ends. UnfinishedFiles.new() makes one.

    Args:
        folders: folders of the store.
        folder: path of the folder of the unfinished files.

    Attributes:
        fd: its descriptor.

    Raises:
        StoreError: no file can be created there.
        OSError: the same, with the reason of the operating system.
    """

    def __init__(self, folders: RealFolders, folder: str) -> None:
        self._folders, self._folder = folders, folder
        for _ in range(_TRIES):
            self._name = f"{os.getpid()}-{next(_counter)}"
            with suppress(FileNotFoundError, FileExistsError), folders.open_folder(folder, make=True) as here:
                self.fd = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=here)
                with suppress(BlockingIOError):  # a sweep has just locked the file, and will remove it
                    fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if is_named(self.fd, self._name, here):  # else a sweep removed the file before we locked it
                        return
                self.close()
        raise StoreError(f"{folder}: no file can be created there; look at the file system, then run again")

    def write(self, data: bytes) -> None:
        """Appends bytes.

        Raises:
            OSError: they cannot be written.
        """
        view = memoryview(data)
        while view:
            view = view[os.write(self.fd, view) :]

    def place(self, path: str) -> None:
        """Renames the file to the path of its object.

        Args:
            path: path of the object.

        Raises:
            NoFile: the folder of the object is a link, or lies behind one.
            OSError: the file cannot be renamed.
        """
        folder, _, name = path.rpartition("/")
        for left in reversed(range(_TRIES)):
            try:
                with (
                    self._folders.open_folder(self._folder) as here,
                    self._folders.open_folder(folder, make=True) as there,
                ):
                    os.rename(self._name, name, src_dir_fd=here, dst_dir_fd=there)
            except FileNotFoundError:  # the folder of the object was just pruned
                if not left:
                    raise
            else:
                return

    def remove_unrenamed(self) -> None:
        """Removes the file, if it was not renamed."""
        with suppress(FileNotFoundError), self._folders.open_folder(self._folder) as here:
            os.unlink(self._name, dir_fd=here)

    def close(self) -> None:
        """Closes the file."""
        os.close(self.fd)


class UnfinishedFiles:
    """The unfinished files of one folder. The writer of each holds a lock on it; the lock ends with the process.

    Args:
        folders: folders of the store.
        folder: path of a folder that has no other files. It comes and goes with them.
    """

    def __init__(self, folders: RealFolders, folder: str) -> None:
        self._folders, self._folder = folders, folder

    def new(self, like: OldFile | None = None) -> UnfinishedFile:
        """A new file.

        Args:
            like: file whose owner and rights it gets before it has a byte; None: those of any new file.

        Raises:
            DataError: this process may not give it these rights.
            StoreError: as UnfinishedFile.
            OSError: the same.
        """
        file = UnfinishedFile(self._folders, self._folder)
        if like is not None:
            try:
                like.share_access(file.fd)
            except BaseException:
                file.remove_unrenamed()
                file.close()
                raise
        return file

    def list_files(self) -> list[tuple[str, float]]:
        """The name of each file, sorted, and its Unix time in seconds. Its writer may be dead or alive."""
        found: list[tuple[str, float]] = []
        with suppress(FileNotFoundError), self._folders.open_folder(self._folder) as here:
            for name in _file_names_in_folder(here):
                with suppress(FileNotFoundError):  # it has just been finished
                    found.append((name, os.stat(name, dir_fd=here, follow_symlinks=False).st_mtime))
        return found

    def remove_dead_file(self, name: str) -> None:
        """Removes a file, unless its writer lives.

        Args:
            name: name of the file.
        """
        with suppress(FileNotFoundError), self._folders.open_folder(self._folder) as here:
            _remove_if_unlocked(name, here)

    def sweep(self) -> None:
        """Removes the files of writers that are dead."""
        with suppress(FileNotFoundError), self._folders.open_folder(self._folder) as here:
            for name in _file_names_in_folder(here):
                _remove_if_unlocked(name, here)
        self._folders.remove_empty(self._folder)


def _file_names_in_folder(folder: int) -> list[str]:
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        with os.scandir(listed) as items:
            return sorted(item.name for item in items)
    finally:
        os.close(listed)


def _remove_if_unlocked(name: str, folder: int) -> None:
    """Removes an unfinished file if its lock is free: then its writer is dead."""
    try:
        fd = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(fd, name, folder):  # its writer may have renamed it, and another one may have its name now
            os.unlink(name, dir_fd=folder)
    except BlockingIOError:
        return
    finally:
        os.close(fd)
