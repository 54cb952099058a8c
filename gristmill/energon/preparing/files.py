"""Writes files of a dataset. Each appears when it is complete; a folder gets no other files than these."""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gristmill.errors import StoreError, undone_at_failure
from gristmill.lake.store.disk.file_lock import open_locked
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import PIECE, Store

_WITHOUT_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems say that cannot lock a folder."""


def write_pieces(store: Store, path: str, pieces: Iterable[bytes]) -> None:
    """Writes a file of any size, over a file that exists.

    In a folder it takes no lock: everyone who prepares these tars writes the same bytes.

    Args:
        store: store of the dataset.
        path: path of the file.
        pieces: its bytes.

    Raises:
        StoreError: the file cannot be written, for example because the disk is full. An old file stays as it was.
    """
    if not isinstance(store, FolderStore):
        upload = store.upload(path)
        with undone_at_failure(upload.abort):
            for piece in pieces:
                upload.write(piece)
        upload.close()
        return
    try:
        file = store.new_incoming()
        with closing(file), undone_at_failure(file.remove_unrenamed):
            for piece in pieces:
                file.write(piece)
            os.fsync(file.fd)
            file.place(path)
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror or error} (look at the disk and at the folder's rights, then run again)"
        ) from error


def write_file(store: Store, path: str, file: Path) -> None:
    """Copies a file of this machine into a dataset.

    Args:
        store: store of the dataset.
        path: path in the dataset.
        file: path on this machine.

    Raises:
        StoreError: as `write_pieces`.
    """
    write_pieces(store, path, local_file_pieces(file))


def local_file_pieces(file: Path) -> Iterator[bytes]:
    """The bytes of a file of this machine."""
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece


def read_optional(store: Store, path: str) -> bytes | None:
    """The bytes of a file; None if it does not exist."""
    found = store.read_tagged(path)
    return found[0] if found else None


def copy_to_local_file(store: Store, path: str, file: Path) -> None:
    """Copies a file of a dataset to this machine.

    Args:
        store: store of the dataset.
        path: path in the dataset.
        file: path on this machine.

    Raises:
        StoreError: the file does not exist, or cannot be copied.
    """
    try:
        with file.open("wb") as out:
            for piece in store.stream(path):
                out.write(piece)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error} (give another folder with --tmp-path)") from error


@contextmanager
def scratch_folder(tmp: str | None) -> Iterator[Path]:
    """A folder of this machine for files of a run, removed at its end.

    Args:
        tmp: folder where it is made; None: the usual place of this machine.

    Raises:
        StoreError: a file in it cannot be written, for example because the disk is full.
    """
    try:
        with TemporaryDirectory(dir=tmp, prefix="gristmill-energon-") as folder:
            yield Path(folder)
    except (OSError, sqlite3.OperationalError) as error:  # a dataset's own files raise StoreError and DataError
        raise StoreError(
            f"a temporary file cannot be written ({error}); free some space and run again, or give another folder with"
            " --tmp-path"
        ) from error


@contextmanager
def lock_folder(store: Store) -> Iterator[None]:
    """Lets one process at a time prepare a folder: two would mix their files. The lock goes with the process.

    A bucket has no such lock, nor have some network file systems.

    Args:
        store: store of the dataset.

    Raises:
        StoreError: another process is preparing the folder.
    """
    if not isinstance(store, FolderStore):
        yield
        return
    folder = _lock_folder(store.url)
    try:
        yield
    finally:
        if folder is not None:
            os.close(folder)


def _lock_folder(folder: str) -> int | None:
    """The descriptor of a folder that this process has locked; None if its file system has no locks."""
    try:
        return open_locked(folder, os.O_RDONLY | os.O_DIRECTORY, wait=False)
    except BlockingIOError as error:
        raise StoreError(
            f"{folder}: another process is preparing this folder; wait until it has ended, then run again"
        ) from error
    except OSError as error:
        if error.errno in _WITHOUT_LOCKS:
            return None
        raise StoreError(
            f"{folder}: {error.strerror} (look at the folder's rights and at its file system, then run again)"
        ) from error
