"""Packed dumps: bzip2 with any number of streams, gzip, zstd, plain; and what is wrong with others."""

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.readers.wiki.dump_file import plain_pieces, unpack_bzip2

TEXT = random.Random(5).randbytes(300_000) + bytes(9_000_000)


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        bz2.compress(TEXT),
        gzip.compress(TEXT, mtime=0),
        zstandard.compress(TEXT),
        b"".join(bz2.compress(TEXT[at : at + 99_991]) for at in range(0, len(TEXT), 99_991)),
    ],
    ids=["plain", "bzip2", "gzip", "zstd", "streams"],
)
def test_the_first_bytes_tell_how_a_dump_is_packed(tmp_path: Path, data: bytes) -> None:
    pieces = list(plain_pieces(talk_file(tmp_path, "dump", data)))
    assert b"".join(pieces) == TEXT
    assert max(map(len, pieces)) <= 9_300_000


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_an_error_names_the_file_as_it_is_named(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(DataError, match=rf"/d\.xml\.{ending}: "):
        list(plain_pieces(talk_file(tmp_path, f"d.xml.{ending}", pack(TEXT)[:-9])))


@pytest.mark.parametrize("data", [b"7z\xbc\xaf\x27\x1c rest", b"\xfd7zXZ\x00 rest"])
def test_other_packings_are_told(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match=r"take the dump's \.bz2 file"):
        list(plain_pieces(talk_file(tmp_path, "dump.bz2", data)))


@pytest.mark.parametrize("cut", [4, 40, -1, -20])
def test_a_truncated_dump_is_an_error(cut: int) -> None:
    with pytest.raises(DataError, match=r"d\.bz2: not valid bzip2 near byte \d+.*truncated"):
        list(unpack_bzip2(iter([bz2.compress(b"flour" * 99_999)[:cut]]), "d.bz2"))


def test_a_damaged_dump_is_an_error() -> None:
    data = bytearray(bz2.compress(TEXT[:300_000]))
    for at in range(20, len(data), len(data) // 9):
        data[at] ^= 0x40
        with pytest.raises(DataError, match=r"not valid bzip2"):
            list(unpack_bzip2(iter([bytes(data)]), "d.bz2"))
        data[at] ^= 0x40


def test_bytes_that_follow_a_stream_and_are_none_are_an_error() -> None:
    with pytest.raises(DataError, match=r"not valid bzip2"):
        list(unpack_bzip2(iter([bz2.compress(b"a") + b"rubbish"]), "d.bz2"))
