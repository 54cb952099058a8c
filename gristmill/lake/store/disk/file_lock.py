"""A lock on a file or folder that ends with its process.

Its holder has locked what the name stands for, not a file that has lost its name.
"""

import fcntl
import os


def open_locked(path: str | os.PathLike[str], flags: int, *, wait: bool = True, folder: int | None = None) -> int:
    """Opens a file or folder, and locks it until its descriptor is closed.

    A file that is removed while somebody waits for its lock has another inode when it is created again. Then the lock
    on the old inode keeps nobody out, so the name is opened again.

    Args:
        path: path of the file or folder.
        flags: flags as os.open takes them, such as O_RDWR | O_CREAT.
        wait: whether to wait until nobody else has the lock.
        folder: descriptor of the folder below which a relative path is; None: the current one.

    Returns:
        The descriptor.

    Raises:
        BlockingIOError: somebody else has the lock, and `wait` is false.
        OSError: the file cannot be opened or locked.
    """
    while True:
        fd = _open_lock_file(path, flags, folder)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_named(fd, path, folder):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _open_lock_file(path: str | os.PathLike[str], flags: int, folder: int | None) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except PermissionError:
        try:  # a file of another user, which we may only read: on a local disk that is enough to lock it
            return os.open(path, os.O_RDONLY | (flags & os.O_NOFOLLOW) | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            pass
        raise


def is_named(fd: int, path: str | os.PathLike[str], folder: int | None = None) -> bool:
    """Whether a path leads to an open file.

    Args:
        fd: descriptor of the file.
        path: path that led to it when it was opened.
        folder: descriptor of the folder to which the path is relative, as for open_locked().
    """
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, dir_fd=folder))
    except FileNotFoundError:
        return False


def is_steady(fd: int, opened: os.stat_result, path: str | os.PathLike[str]) -> bool:
    """Whether an open file has its name still, and at most the number of its names has changed since it was opened.

    A further name (a hard link, as some backups make) changes the ctime, as rewriting does, but not one byte.

    Args:
        fd: descriptor of the file.
        opened: its status when it was opened.
        path: path that led to it.
    """
    now = os.fstat(fd)
    return (now.st_ctime_ns == opened.st_ctime_ns or now.st_nlink != opened.st_nlink) and is_named(fd, path)
