"""A lock is on what the name stands for: a file that lost its name while somebody waited for it keeps nobody out."""

import fcntl
import os
from pathlib import Path

import pytest

from gristmill.lake.store.disk.file_lock import open_locked

FLAGS = os.O_RDWR | os.O_CREAT


def free(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_lock_excludes_others_until_it_is_closed(tmp_path: Path) -> None:
    lock = open_locked(tmp_path / "l", FLAGS)
    with pytest.raises(BlockingIOError):
        open_locked(tmp_path / "l", FLAGS, wait=False)
    os.close(lock)
    os.close(open_locked(tmp_path / "l", FLAGS, wait=False))


@pytest.mark.parametrize("again", [True, False])
def test_a_file_that_is_replaced_before_it_is_locked_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, again: bool
) -> None:
    path = tmp_path / "l"
    lock, times = fcntl.flock, list[int]()

    def flock(fd: int, operation: int) -> None:
        if not times:
            path.unlink()
            if again:
                path.touch()
        times.append(fd)
        lock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    held = open_locked(path, FLAGS)
    monkeypatch.undo()
    assert len(times) == 2
    assert not free(path)
    os.close(held)
    assert free(path)


def test_a_folder_can_be_locked_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    os.close(open_locked(tmp_path, os.O_RDONLY | os.O_DIRECTORY, wait=False))
    with pytest.raises(FileNotFoundError):
        open_locked(tmp_path / "no", os.O_RDONLY | os.O_DIRECTORY)
