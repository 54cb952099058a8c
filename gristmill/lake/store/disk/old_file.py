"""OldFile: the file of an object that is replaced or removed, held open. It tells whether its bytes are gone."""

import os
from pathlib import Path


class OldFile:
    """A file that is open. It has lost its last name when no folder names it any longer.

    Args:
        fd: its descriptor.
        folder: that it lies in.
    """

    def __init__(self, fd: int, folder: Path) -> None:
        self._fd, self._folder, self._status = fd, folder, os.fstat(fd)

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
