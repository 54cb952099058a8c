"""Hostile raw data at full size: bombs of ten gigabytes, and what they cost.

A child process reads each, and tells its peak memory. The bound is generous; a row in memory would break it many times.
"""

import gzip
import json
import sys
from pathlib import Path

import pytest
import zstandard
from peak_memory import run_with_peak

GIGABYTES = 10
PIECE = 64 << 20

READ = """
import json, sys, time
from gristmill.errors import GristmillError
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.raw_object import Copied, RawObject
folder, name = sys.argv[1:]
store = FolderStore(folder)
raw = RawObject(store, name, name, store.head(name).size)
before = peak()
began, ids, refused, error = time.monotonic(), [], 0, ""
try:
    for row in DolmaLines("a")(raw):
        if isinstance(row, Copied):
            ids.append(row.id)
        else:
            refused += 1
except GristmillError as wrong:
    error = str(wrong)
long = [(row.reason, len(row.raw), row.size) for row in raw.take_refused()]
more = peak() - before
print(json.dumps([ids, refused, long, error, more, time.monotonic() - began]))
"""


def read(folder: Path, name: str) -> tuple[list[str], int, list[list[object]], str]:
    """What a reader made of a file: ids, number of refused rows, rows that were too long, and the error."""
    ids, refused, long, error, more, seconds = json.loads(run_with_peak(READ, folder, name))
    size = (folder / name).stat().st_size
    sys.stdout.write(f"{name}: {size:,} bytes, {more} MiB more memory, {seconds:.1f} s\n")
    assert more < 700  # MiB: the longest row may have 256
    return ids, refused, long, error


def row(id_: str) -> bytes:
    return b'{"id":"%s","text":"t","source":"a"}\n' % id_.encode()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_row_of_ten_gigabytes_is_skipped_and_the_next_is_read(tmp_path: Path, name: str) -> None:
    packed = name.endswith(".gz")
    piece = gzip.compress(b"x" * PIECE, 1, mtime=0) if packed else b"x" * PIECE
    gigabytes = GIGABYTES if packed else 1
    with (tmp_path / name).open("wb") as file:
        file.write(gzip.compress(row("before"), mtime=0) if packed else row("before"))
        for _ in range(gigabytes * 16):
            file.write(piece)
        file.write(gzip.compress(b"\n" + row("after"), mtime=0) if packed else b"\n" + row("after"))
    ids, refused, long, error = read(tmp_path, name)
    assert (ids, refused, error) == (["before", "after"], 0, "")
    assert long == [["row too long", 1 << 20, gigabytes << 30]]


@pytest.mark.parametrize(
    ("name", "piece"),
    [("row.jsonl.zst", b"x" * PIECE), ("rows.jsonl.zst", b"\n" * PIECE), ("rows.jsonl.gz", b"\n" * PIECE)],
)
def test_a_bomb_is_told_by_its_ratio_before_it_is_read(tmp_path: Path, name: str, piece: bytes) -> None:
    packed = gzip.compress(piece, mtime=0) if name.endswith(".gz") else zstandard.compress(piece)
    (tmp_path / name).write_bytes(packed * (5 if name.endswith(".gz") else GIGABYTES * 16))
    ids, refused, long, error = read(tmp_path, name)
    assert (ids, refused, long) == ([], 0, [])
    assert error.startswith(f"{name}: its first ")
    assert "as a decompression bomb does; remove it" in error
