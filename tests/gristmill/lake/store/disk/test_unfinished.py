"""What killed writers leave is hidden, and swept; what living ones write is spared."""

import fcntl
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gristmill.lake.store.folder import INCOMING, FolderStore

WRITER = """
import sys, time
from gristmill.lake.store.folder import FolderStore
upload = FolderStore(sys.argv[1]).upload("a/b")
upload.write(b"half")
print("written", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    (tmp_path / "lake").mkdir()
    return FolderStore(str(tmp_path / "lake"))


def incoming(store: FolderStore) -> list[str]:
    top = Path(store.url) / INCOMING
    return [file.name for file in top.iterdir()] if top.is_dir() else []


@contextmanager
def another_writer(store: FolderStore) -> Iterator["subprocess.Popen[str]"]:
    """Another process in the middle of an upload."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, store.url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_killed_writer_leaves_one_hidden_file_which_a_sweep_removes(folder: FolderStore) -> None:
    with another_writer(folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list(folder.list("")) == []
    assert len(incoming(folder)) == 1
    folder.sweep()
    assert list(Path(folder.url).iterdir()) == []


def test_a_sweep_spares_a_living_writer_in_another_process(folder: FolderStore) -> None:
    with another_writer(folder):
        folder.sweep()
        assert len(incoming(folder)) == 1


def test_a_sweep_spares_a_living_writer_in_this_process(folder: FolderStore) -> None:
    upload = folder.upload("a")
    upload.write(b"1")
    FolderStore(folder.url).sweep()
    upload.close()
    assert folder.read("a") == b"1"
    assert incoming(folder) == []


def test_a_sweep_that_locks_a_renamed_file_spares_the_next_one_of_its_name(
    folder: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines may have processes of one number, so two writers the same names."""
    file = Path(folder.url) / INCOMING / "1-0"
    file.parent.mkdir()
    file.write_bytes(b"complete")
    lock = fcntl.flock

    def flock(fd: int, operation: int) -> None:
        file.rename(Path(folder.url) / "a")
        file.write_bytes(b"of a living writer")
        lock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    folder.sweep()
    assert file.read_bytes() == b"of a living writer"


def test_a_sweep_removes_neither_links_nor_what_they_lead_to(folder: FolderStore) -> None:
    folder.put("sources/pages/raw/2024/a", b"precious")
    (Path(folder.url) / INCOMING / "1-1").symlink_to("../sources/pages/raw/2024/a")
    folder.sweep()
    assert folder.read("sources/pages/raw/2024/a") == b"precious"
    assert incoming(folder) == ["1-1"]
