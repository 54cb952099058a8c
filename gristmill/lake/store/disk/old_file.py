"""OldFile: the file of an object that is replaced or removed, held open.

It tells whether its bytes are gone, and gives the new file its owner and rights.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from gristmill.errors import DataError


class OldFile:
    """A file that is open. It has lost its last name when no folder names it any longer.

    Args:
        fd: its descriptor.
        folder: folder of the file.

    Attributes:
        shared: whether a new file may lack its owner or access list. Then nobody else may do more with the new file.
    """

    def __init__(self, fd: int, folder: Path) -> None:
        self._fd, self._folder, self._status = fd, folder, os.fstat(fd)
        self.shared = False

    def share_access(self, new: int) -> None:
        """Gives a new file the owner, group, mode and access list of this one, so that nobody else can read it.

        Args:
            new: descriptor of the new file.

        Raises:
            DataError: this process may not do so.
        """
        made = os.fstat(new)
        try:
            if (made.st_uid, made.st_gid) != (self._status.st_uid, self._status.st_gid):
                os.fchown(new, self._status.st_uid, self._status.st_gid)
            old_lists, new_lists = _read_access_lists(self._fd), _read_access_lists(new)
            for name in new_lists.keys() - old_lists.keys():
                os.removexattr(new, name)
            for name, value in old_lists.items() - new_lists.items():
                os.setxattr(new, name, value)
            if os.fstat(new).st_mode != self._status.st_mode:
                os.fchmod(new, stat.S_IMODE(self._status.st_mode))
        except PermissionError as error:
            if self.shared:
                self._narrow_permissions(new)
                return
            raise DataError(
                "its file has an owner or rights that this user may not give to a new file; nothing was changed, run as"
                " the owner of the file"
            ) from error

    def _narrow_permissions(self, new: int) -> None:
        """Takes from the members of the group and from others what they may not do with this file."""
        made = os.fstat(new)
        left = stat.S_IMODE(made.st_mode & self._status.st_mode)
        if made.st_gid != self._status.st_gid or _read_access_lists(
            self._fd
        ):  # the bits of the group are of other people
            left &= ~stat.S_IRWXG
        os.fchmod(new, left | stat.S_IRUSR | stat.S_IWUSR)

    def why_left(self) -> str:
        """Why the bytes are not gone, or not those that were read, although the object has been replaced or removed.

        Returns:
            Why; empty if the file has no name left, and was not written to meanwhile.

        Raises:
            OSError: the folder cannot be listed.
        """
        now = os.fstat(self._fd)
        if now.st_nlink > (1 if self._is_kept_by_nfs(now) else 0):
            return (
                "while it was replaced its file got another name (a hard link, or a link to it), under which its bytes"
                " stay: find that name, and erase it by hand"
            )
        if (now.st_size, now.st_mtime_ns) != (self._status.st_size, self._status.st_mtime_ns):
            return "others wrote to it while it was replaced: what they wrote is lost, and must be written again"
        return ""

    def _is_kept_by_nfs(self, status: os.stat_result) -> bool:
        """Whether the last name is the one that NFS gives a removed file until it is closed."""
        try:
            with os.scandir(self._folder) as items:
                return any(item.name.startswith(".nfs") and item.inode() == status.st_ino for item in items)
        except FileNotFoundError:  # the file was the last one in its folder
            return False


def _read_access_lists(file: int) -> dict[str, bytes]:
    """The access lists of a file, by the names of their attributes; empty where the system has none."""
    with suppress(AttributeError, OSError):  # macOS has no such call, and some file systems no such attributes
        return {name: os.getxattr(file, name) for name in os.listxattr(file) if name.startswith("system.")}
    return {}
