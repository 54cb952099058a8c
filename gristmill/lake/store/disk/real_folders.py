"""Opens the folders of a store one below the other, from its root, and passes through no link.

A change on the descriptor of a folder happens in that folder. A link that somebody makes meanwhile leads it nowhere
else.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gristmill.lake.store.plain_files import NoFile

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""O_PATH (Linux) needs no right to list the folder, and asks no server of a shared file system."""

_RAW = re.compile(r"(sources/[^/]+)/raw(?:/|\Z)")
"""The raw data of a source in a lake: `gristmill.lake.address.raw_folder`."""


class RealFolders:
    """The folders of a store.

    Args:
        root: the folder of the store. It may be a link itself, or lie behind one.
        foreign: whether the store holds other people's files, which are read through all links. In a lake only raw data
            are.
    """

    def __init__(self, root: str, *, foreign: bool) -> None:
        self._root, self._foreign = root, foreign

    @contextmanager
    def open_folder(self, folder: str, *, make: bool = False) -> Iterator[int]:
        """A folder in which something is changed.

        Args:
            folder: its path in the store, without a slash at its end; empty: the root.
            make: whether to make it if it is missing.

        Yields:
            Its descriptor.

        Raises:
            NoFile: it is a link, or lies behind one.
            OSError: it cannot be opened. FileNotFoundError also if another process has just removed what was made.
        """
        opened = self._open_root(make=make)
        try:
            names = folder.split("/") if folder else []
            for count, name in enumerate(names, 1):
                try:
                    below = _open_below(opened, name, make=make)
                except OSError as error:
                    if _is_link(name, opened):
                        raise self.link_at("/".join(names[:count])) from None
                    self._add_path_to_error(error, "/".join(names[: count - 1]))
                    raise
                os.close(opened)
                opened = below
            try:
                yield opened
            except OSError as error:
                self._add_path_to_error(error, folder)
                raise
        finally:
            os.close(opened)

    @contextmanager
    def opened_beside(self, path: str) -> Iterator[tuple[int, str, bool]]:
        """The folder from which an object is read.

        Args:
            path: path of the object.

        Yields:
            Its descriptor, the path of the object below it, and whether links on this path are followed.

        Raises:
            NoFile: the folder is a link, or lies behind one, where none is followed.
            OSError: it cannot be opened.
        """
        real = self._real_part(path)
        folder = path.rpartition("/")[0] if real == path else real
        with self.open_folder(folder) as opened:
            yield opened, path[len(folder) :].lstrip("/"), real != path

    def is_followed(self, path: str) -> bool:
        """Whether what has a path is read also if it is a link, or lies behind one."""
        return self._real_part(path) != path

    def check(self, folder: str) -> None:
        """Checks a folder that is listed. A missing folder is no error.

        Args:
            folder: its path in the store, without a slash at its end.

        Raises:
            NoFile: it is a link, or lies behind one, where none is followed.
        """
        with suppress(FileNotFoundError, NotADirectoryError), self.open_folder(self._real_part(folder)):
            pass

    def remove_empty(self, folder: str) -> bool:
        """Removes a folder if it is empty. Returns whether it was.

        Args:
            folder: its path in the store, without a slash at its end.

        Raises:
            NoFile: it lies behind a link.
        """
        above, _, name = folder.rpartition("/")
        try:
            with self.open_folder(above) as opened:
                os.rmdir(name, dir_fd=opened)
        except OSError:
            return False
        return True

    def why_bytes_stay(self, path: str) -> str:
        """Tells whether the bytes of an object would stay on the disk if it were replaced or removed.

        Args:
            path: the path of the object.

        Returns:
            Why they would stay; empty if they would not.
        """
        folder, _, name = path.rpartition("/")
        try:
            with self.open_folder(folder) as opened:
                status = os.stat(name, dir_fd=opened, follow_symlinks=False)
        except NoFile as error:
            return f"it lies behind a link: {error.path} leads to {self._link_target(error.path)}; erase it there"
        except FileNotFoundError:
            return ""
        if stat.S_ISLNK(status.st_mode):
            target = self._link_target(path)
            return f"it is a link to {target}, which would stay; put the file itself in its place, or erase it there"
        if status.st_nlink > 1:
            return (
                f"its file has {status.st_nlink} names (hard links), and its bytes would stay under the others; remove"
                " these, or put a copy of the file in its place and erase the others by hand"
            )
        return ""

    def link_at(self, path: str) -> NoFile:
        """The error about a link that is not followed.

        Args:
            path: path of the link in the store.
        """
        where = "nothing is written or deleted behind it"
        if not self._foreign:
            where += ", and in a lake only raw data are read through links"
        return NoFile(
            path, f"a link to {self._link_target(path)}: {where}. Remove the link (what it leads to stays as it is)"
        )

    def _link_target(self, path: str) -> str:
        return os.path.realpath(f"{self._root}/{path}")

    def _add_path_to_error(self, error: OSError, folder: str) -> None:
        """Gives an error the whole path of a file that was named below the descriptor of a folder.

        A rename has two, in two folders: the second one belongs to the folder that was opened last.
        """
        top = Path(self._root, folder)
        if isinstance(error.filename2, str) and not error.filename2.startswith("/"):
            error.filename2 = str(top / error.filename2)
        elif isinstance(error.filename, str):
            error.filename = str(top / error.filename)  # an absolute path stays as it is

    def _open_root(self, *, make: bool) -> int:
        try:
            return os.open(self._root, _FOLDER)
        except FileNotFoundError:
            if not make:
                raise
        Path(self._root).mkdir(parents=True, exist_ok=True)
        return os.open(self._root, _FOLDER)

    def _real_part(self, path: str) -> str:
        """The part of a path that must not pass through a link."""
        if self._foreign:
            return ""
        raw = _RAW.match(path)
        return raw[1] if raw else path


def _open_below(folder: int, name: str, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
