"""What is no file is told by name, and nobody waits for it. tests/gristmill/raw_data/test_scan.py has the listings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.plain_files import sorted_items

READ = """
import sys
from gristmill.errors import StoreError
from gristmill.lake.store.folder import FolderStore
store = FolderStore(sys.argv[1], foreign=True)
ways = (store.read, store.read_tagged, lambda path: store.read_range(path, 0, 1), lambda path: [*store.stream(path)])
for read in ways:
    try:
        read(sys.argv[2])
    except StoreError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [("pipe", "pipe: a FIFO, not a file; remove it"), ("zero", "zero: a device, not a file; remove it")],
)
def test_no_way_of_reading_waits_for_what_is_no_file(tmp_path: Path, name: str, words: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    given = [sys.executable, "-c", READ, str(tmp_path), name]
    done = subprocess.run(given, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [words] * 4


def test_a_folder_that_cannot_be_read_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "away").symlink_to("/nowhere/at/all")
    with pytest.raises(StoreError, match=r"^away/: the target of this link does not exist"):
        sorted_items(str(tmp_path / "away"), "away/", None)


def test_a_listing_that_nobody_is_told_of_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe: a FIFO, not a file; remove it"):
        list(FolderStore(str(tmp_path)).list(""))


def test_a_folder_is_no_object_and_links_to_files_are(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "real").write_bytes(b"12")
    (tmp_path / "link").symlink_to("real")
    store = FolderStore(str(tmp_path), foreign=True)
    assert [(entry.path, entry.size) for entry in store.list("")] == [("link", 2), ("real", 2)]
    assert store.read("link") == b"12"
    with pytest.raises(StoreError, match="folder: Is a directory"):
        store.read("folder")
