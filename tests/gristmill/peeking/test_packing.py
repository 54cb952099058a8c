import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from gristmill.peeking.packing import guess_packing, named_by_content, plain_head, unpacking_file

PLAIN = b"".join(b"%d words\n" % number for number in range(1000))
PACKED = {
    "": PLAIN,
    "gzip": gzip.compress(PLAIN[:500], mtime=0) + gzip.compress(PLAIN[500:], mtime=0),
    "bzip2": bz2.compress(PLAIN[:500]) + bz2.compress(PLAIN[500:]),
    "xz": lzma.compress(PLAIN[:500]) + lzma.compress(PLAIN[500:]),
    "zstandard": zstandard.compress(PLAIN[:500]) + zstandard.compress(PLAIN[500:]),
}


@pytest.mark.parametrize("packing", PACKED)
def test_the_first_plain_bytes_of_each_packing_are_read(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACKED[packing])
    assert guess_packing(PACKED[packing][:8]) == packing
    assert plain_head(path) == (PLAIN, True)
    assert plain_head(path, 700) == (PLAIN[:700], False)
    with unpacking_file(path) as file:
        assert file.read(1000) == PLAIN[:1000]


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstandard"])
def test_damaged_bytes_end_what_is_seen(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "file"
    whole = PACKED[packing]
    path.write_bytes(whole[: len(whole) // 2] + bytes(100) + whole[len(whole) // 2 :])
    seen, _ = plain_head(path)
    assert PLAIN.startswith(seen[:500])


@pytest.mark.parametrize(
    ("name", "packing", "archive", "named"),
    [
        ("a.jsonl.gz", "gzip", "", "a.jsonl.gz"),
        ("a.txt", "gzip", "", "a.txt.gz"),
        ("a.gz", "", "", "a"),
        ("a.jsonl.gz", "zstandard", "", "a.jsonl.zst"),
        ("a.jsonl.zstd", "zstandard", "", "a.jsonl.zstd"),
        ("a.zip", "", ".tar", "a.tar"),
        ("a.zip", "gzip", ".tar", "a.tar.gz"),
        ("a.tgz", "gzip", ".tar", "a.tgz"),
        ("a.tgz", "bzip2", ".tar", "a.tar.bz2"),
        ("a.gz", "", ".zip", "a.zip"),
        ("a.tar.gz", "", ".zip", "a.zip"),
        ("A.EPUB", "", ".zip", "A.EPUB"),
    ],
)
def test_a_name_is_mended_to_what_the_bytes_are(name: str, packing: str, archive: str, named: str) -> None:
    assert named_by_content(name, packing, archive) == named


def test_a_file_may_begin_with_a_skippable_frame(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + PACKED["zstandard"])
    assert plain_head(path) == (PLAIN, True)
    with unpacking_file(path) as file:
        assert file.read(1000) == PLAIN[:1000]
