"""make samples: every source of the sample data in one command; what fails, and what no source reads, is told."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from scripts.samples import Result, unpacked, unread

DATA = os.environ.get("GRISTMILL_SAMPLE_DATA", "")


def samples(*arguments: str, data: str) -> subprocess.CompletedProcess[str]:
    told = [sys.executable, "-m", "scripts.samples", *arguments]
    environment = {**os.environ, "GRISTMILL_SAMPLE_DATA": data}
    return subprocess.run(told, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="GRISTMILL_SAMPLE_DATA does not name the sample data")
def test_every_sample_becomes_documents_in_less_than_three_minutes() -> None:
    done = samples(data=DATA)
    assert done.returncode == 0, done.stdout + done.stderr
    [seconds] = re.findall(r"^(\d+) seconds altogether$", done.stdout, re.MULTILINE)
    assert int(seconds) < 180
    assert "FAILED" not in done.stdout


@pytest.mark.slow
def test_without_the_data_it_is_skipped_in_words(tmp_path: Path) -> None:
    done = samples(data=str(tmp_path))
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "skipped: GRISTMILL_SAMPLE_DATA names no folder with the sample data" in done.stdout


@pytest.mark.slow
def test_what_fails_and_what_is_not_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "raw" / "forum").mkdir(parents=True)
    (tmp_path / "raw" / "forum" / "a.jsonl.gz").write_bytes(b"no gzip")
    done = samples("forum", "--lake", str(tmp_path / "new" / "lake"), data=str(tmp_path))
    assert done.returncode == 1
    assert (tmp_path / "new" / "lake").is_dir()
    assert re.search(r"^forum +0 +0 .*FAILED: .*a\.jsonl\.gz", done.stdout, re.MULTILINE)
    assert unread([], tmp_path / "raw") == ["forum/a.jsonl.gz"]
    assert unread([Result("forum", objects={tmp_path / "raw/forum/a.jsonl.gz"})], tmp_path / "raw") == []


def test_the_size_of_a_raw_object_is_that_of_all_its_members(tmp_path: Path) -> None:
    import bz2
    import gzip

    for name, data in {
        "a": gzip.compress(b"12", mtime=0) + gzip.compress(b"345", mtime=0),
        "b": bz2.compress(b"12345"),
        "c": b"12345",
    }.items():
        (tmp_path / name).write_bytes(data)
        assert unpacked(tmp_path / name) == 5
