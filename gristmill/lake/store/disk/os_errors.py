"""Errors of the operating system as StoreErrors."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from gristmill.errors import StoreError

_RIGHTS = "make the lake's folder readable and writable for this user"


@contextmanager
def raise_store_errors(path: str) -> Iterator[None]:
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
        raise StoreError(f"{path}: {_other_file_of_error(error, path)}{error.strerror or error} ({mend})") from error


def is_full(error: StoreError) -> bool:
    """Whether a write failed because the disk is full, or the user's share of it."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in {errno.ENOSPC, errno.EDQUOT}


def _other_file_of_error(error: OSError, path: str) -> str:
    """The file that an error is about, if that is not the object itself: the lock, or an unfinished file."""
    file = error.filename2 or error.filename
    return "" if not isinstance(file, str) or file.rstrip("/").endswith(path.rstrip("/")) else f"{file}: "
