"""kill -9 while a folder is prepared, and two preparations at once."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tarfolder import contents, write_shards

COMMAND = [sys.executable, "-m", "gristmill", "energon", "prepare", "--split-ratio", "2,1,1", "--num-workers", "1"]

pytestmark = pytest.mark.slow


def started(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([*COMMAND, str(folder), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(folder: Path, *words: str) -> None:
    process = started(folder, *words)
    said = process.communicate()[0]
    assert process.returncode == 0, said.decode()


@pytest.mark.parametrize("indexes", [1, 20, 39])
def test_a_killed_preparation_is_completed_by_the_next(tmp_path: Path, indexes: int) -> None:
    """The process is killed when so many of 40 indexes are there."""
    for name in ("whole", "killed"):
        write_shards(tmp_path / name, 40, 2)
    tars = contents(tmp_path / "killed")
    finish(tmp_path / "whole")
    process = started(tmp_path / "killed")
    while process.poll() is None and len(list((tmp_path / "killed").rglob("*.idx"))) < indexes:
        time.sleep(0.0005)
    process.kill()
    process.communicate()
    left = contents(tmp_path / "killed")
    assert {name: left[name] for name in tars} == tars
    finish(tmp_path / "killed", *(["--force-overwrite"] if ".nv-meta/.info.json" in left else []))
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_two_preparations_at_once_leave_one_complete_dataset(tmp_path: Path) -> None:
    for name in ("alone", "both"):
        write_shards(tmp_path / name, 20, 2)
    finish(tmp_path / "alone")
    processes = [started(tmp_path / "both") for _ in range(2)]
    said = [process.communicate()[0] for process in processes]
    assert 0 in [process.returncode for process in processes], said
    assert contents(tmp_path / "both") == contents(tmp_path / "alone")
