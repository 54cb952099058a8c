"""Which things in a folder can be objects: plain files with names in UTF-8. All else is told by name, never waited on.

A FIFO blocks whoever opens it until somebody writes into it, and reading a device may never end.
"""

import errno
import io
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from gristmill.errors import StoreError


class Unlisted(NamedTuple):
    """Something that a listing leaves out, because it cannot be an object.

    Attributes:
        path: path of the item, in the form of an object's path; bytes that are not UTF-8 are escaped.
        reason: description of the item, and the mend.
        hides: whether there may be objects below it that cannot be seen.
        circle: whether it is a link to itself or to a folder above it, behind which there is nothing new.
    """

    path: str
    reason: str
    hides: bool = False
    circle: bool = False


class NoFile(StoreError):  # noqa: N818 - the tree reads as English
    """Something in a folder is no plain file, a link to nothing, or a link that is not followed.

    Attributes:
        path: path of the item, in the form of an object's path.
        reason: description of the item, and the mend.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type["NoFile"], tuple[str, str]]:
        return type(self), (self.path, self.reason)


NO_TARGET = "the target of this link does not exist; mount the target, or remove the link"

Tell = Callable[[Unlisted], None]
"""Takes what a listing leaves out."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def first_linked_path(root: str, path: str, below: int, is_link: Callable[[str], bool] = os.path.islink) -> str:
    """The first of the last parts of a path that is a link.

    Args:
        root: root of the store, as Store.url gives it. A bucket has no links.
        path: path of an object in the store.
        below: number of parts, from the end, that are looked at.
        is_link: function that says whether a path is a link, such as one that remembers what it has seen.

    Returns:
        The parts up to the link, joined by "/"; empty if none is one.
    """
    if not root or "://" in root:
        return ""
    parts = path.split("/")
    top, names = os.path.join(root, *parts[:-below]), parts[-below:]  # noqa: PTH118 - once for each object of a plan
    each = ("/".join(names[:n]) for n in range(1, below + 1))
    return next((name for name in each if is_link(f"{top}/{name}")), "")


def sorted_items(folder: str, prefix: str, tell: Tell | None) -> list["os.DirEntry[str]"]:
    """The items of a folder by name. A folder that does not exist has none, but a link to one is told.

    Args:
        folder: its path in the file system.
        prefix: its path in the lake, with its closing slash.
        tell: function that takes items without a valid name, and a folder that cannot be read. None: the former are
            listed, and the latter is an error.

    Raises:
        StoreError: the folder cannot be read.
    """
    try:
        items = sorted(os.scandir(folder), key=lambda item: item.name)
    except NotADirectoryError:
        return []
    except OSError as error:
        reason = f"{error.strerror} (make this folder readable for this user)"
        if isinstance(error, FileNotFoundError):
            if not os.path.islink(folder):  # noqa: PTH114 - most listings of a lake look for a folder that is not there
                return []
            reason = NO_TARGET
        if tell is None:
            raise StoreError(f"{prefix}: {reason}") from error
        tell(Unlisted(prefix.rstrip("/"), reason, hides=True))
        return []
    wrong = [item for item in items if not item.name.isascii() and not _is_utf8(item.name)]
    if tell is None or not wrong:
        return items
    for item in wrong:
        path = f"{prefix}{os.fsencode(item.name).decode('utf-8', 'backslashreplace')}"
        tell(Unlisted(path, "its name is not UTF-8; rename it"))
    return [item for item in items if item not in wrong]


def is_folder(item: "os.DirEntry[str]") -> bool:
    """Whether an item is a folder, or a link to one. A link to itself is not a folder; file_status() reports it."""
    try:
        return item.is_dir()
    except OSError:
        return False


def file_status(item: "os.DirEntry[str]", path: str, tell: Tell | None) -> os.stat_result | None:
    """The status of the file that an item is or links to; None if it is gone, or was told.

    Args:
        item: item of a folder; it is no folder itself.
        path: its path in the lake.
        tell: function that takes each item that is not a plain file; None: that is an error.

    Raises:
        NoFile: it is no plain file, or a link whose target does not exist.
    """
    try:
        status = item.stat()
    except FileNotFoundError:
        if not item.is_symlink():
            return None
        found = Unlisted(path, NO_TARGET, hides=True)
    except OSError as error:
        if tell is None and error.errno != errno.ELOOP:
            raise
        found = Unlisted(path, f"{error.strerror}; remove it", hides=True, circle=error.errno == errno.ELOOP)
    else:
        if stat.S_ISREG(status.st_mode):
            return status
        found = Unlisted(path, _no_file(status))
    if tell is None:
        raise NoFile(path, found.reason)
    tell(found)
    return None


def open_plain(file: str, path: str, folder: int, *, follows: bool) -> io.FileIO:
    """A file opened for reading, without a buffer. Opening never waits, whatever is there.

    Args:
        file: its path below the folder.
        path: its path in the lake, for messages.
        folder: descriptor of a folder.
        follows: whether it may be a link.

    Raises:
        IsADirectoryError: it is a folder.
        NoFile: it is no plain file.
        OSError: it cannot be opened; ELOOP: it is a link, and may not be one.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follows else os.O_NOFOLLOW)
    fd = os.open(file, flags, dir_fd=folder)
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return io.FileIO(fd)
    os.close(fd)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(21, "Is a directory")
    raise NoFile(path, _no_file(status))


def _no_file(status: os.stat_result) -> str:
    return f"{_KINDS.get(stat.S_IFMT(status.st_mode), 'something else')}, not a file; remove it"


def _is_utf8(name: str) -> bool:
    """Whether a name from the file system is text. Python keeps other bytes as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
