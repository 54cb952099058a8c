"""UnfinishedFiles: files that are written under names of no meaning, and renamed when they are complete."""

import fcntl
import itertools
import os
from contextlib import suppress
from pathlib import Path

from gristmill.errors import StoreError
from gristmill.lake.store.disk.file_lock import is_named

TRIES = 100
"""Most attempts to create or rename a file while other processes remove its folder."""

_counter = itertools.count()


def make_folder(folder: Path) -> None:
    """Creates a folder. Another process may create or remove it at the same moment; the caller then tries again.

    Args:
        folder: its path.
    """
    with suppress(FileNotFoundError, FileExistsError):
        folder.mkdir(parents=True, exist_ok=True)


class UnfinishedFiles:
    """The unfinished files of one folder. The writer of each holds a lock on it; the lock ends with the process.

    Args:
        folder: has no other files. It comes and goes with them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self) -> tuple[Path, int]:
        """A new file, locked until this process ends, and its descriptor.

        Raises:
            StoreError: no file can be created there.
        """
        for _ in range(TRIES):
            file = self._folder / f"{os.getpid()}-{next(_counter)}"
            try:
                fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileNotFoundError:
                make_folder(file.parent)
                continue
            except FileExistsError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a sweep has just locked the file, and will remove it
                os.close(fd)
                continue
            if is_named(fd, file):
                return file, fd
            os.close(fd)  # a sweep removed the file before we locked it
        raise StoreError(f"{self._folder}: no file can be created there; look at the file system, then run again")

    def there(self) -> list[tuple[str, float]]:
        """The name of each file, sorted, and its Unix time in seconds. Its writer may be dead or alive."""
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208 - names alone
        except FileNotFoundError:
            return []
        found: list[tuple[str, float]] = []
        for name in names:
            with suppress(FileNotFoundError):  # it has just been finished
                found.append((name, (self._folder / name).lstat().st_mtime))
        return found

    def remove(self, name: str) -> None:
        """Removes a file, unless its writer lives.

        Args:
            name: of the file.
        """
        _sweep_one(str(self._folder / name))

    def sweep(self) -> None:
        """Removes the files of writers that are dead."""
        with suppress(FileNotFoundError), os.scandir(self._folder) as items:
            for item in items:
                _sweep_one(item.path)
        with suppress(OSError):
            self._folder.rmdir()


def _sweep_one(path: str) -> None:
    """Removes an unfinished file if its lock is free: then its writer is dead."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(fd, path):  # its writer may have renamed it, and another one may have its name now
            Path(path).unlink()
    except BlockingIOError:
        return
    finally:
        os.close(fd)
