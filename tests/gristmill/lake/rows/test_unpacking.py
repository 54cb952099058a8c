"""Gzip members as they are found in a stream. Damaged files: tests/gristmill/lake/rows/test_shard_file.py."""

import bz2
import gzip
import lzma
import random
from collections.abc import Callable, Iterator

import pytest
import zstandard

from gristmill.errors import DataError
from gristmill.lake.rows.unpacking import unpack_bzip2, unpack_gzip, unpack_xz, unpack_zstandard

PACKED = [gzip.compress(text, mtime=0) for text in (b"one\n", b"", b"three\n")]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_each_member_is_announced_before_its_first_bytes(size: int) -> None:
    data = b"".join(PACKED)
    begins: list[int] = []
    pieces = (data[n : n + size] for n in range(0, len(data), size))
    found = [(len(begins), plain) for plain in unpack_gzip(pieces, "a.gz", begins)]
    first, second = len(PACKED[0]), len(PACKED[0]) + len(PACKED[1])
    assert begins == [0, first, second]
    assert b"".join(plain for number, plain in found if number == 1) == b"one\n"
    assert b"".join(plain for number, plain in found if number == 3) == b"three\n"


def test_a_member_that_is_cut_is_an_error_with_the_mend() -> None:
    with pytest.raises(
        DataError,
        match=r"a\.gz: the file ends in the middle: .*; if it is raw data, get this file again; else remove it",
    ):
        list(unpack_gzip([PACKED[0], PACKED[2][:-3]], "a.gz"))


@pytest.mark.parametrize(("pack", "unpack"), [(bz2.compress, unpack_bzip2), (lzma.compress, unpack_xz)])
@pytest.mark.parametrize("size", [1, 1000, 1 << 22])
def test_streams_of_bzip2_and_xz_follow_each_other(
    pack: Callable[..., bytes], unpack: Callable[..., Iterator[bytes]], size: int
) -> None:
    texts = [b"one\n", b"", random.Random(1).randbytes(3000)]
    data = b"".join(pack(text) for text in texts) + bytes(8)
    pieces = [data[n : n + size] for n in range(0, len(data), size)]
    assert b"".join(unpack(pieces, "a")) == b"".join(texts)
    large = list(unpack([pack(bytes(10 << 20))], "a"))
    assert (sum(map(len, large)), max(map(len, large))) == (10 << 20, 4 << 20)  # in steps, whatever one piece holds


@pytest.mark.parametrize(("pack", "unpack"), [(bz2.compress, unpack_bzip2), (lzma.compress, unpack_xz)])
def test_bzip2_and_xz_that_are_cut_or_damaged_are_errors(
    pack: Callable[..., bytes], unpack: Callable[..., Iterator[bytes]]
) -> None:
    data = pack(random.Random(1).randbytes(3000))
    for wrong in (b"", data[:-1], data[:20], data + data[:5]):
        with pytest.raises(
            DataError,
            match=r"a\.x: the file ends in the middle: .*; if it is raw data, get this file again; else remove it",
        ):
            list(unpack([wrong], "a.x"))
    for wrong in (b"no such format", data + b"more that is no stream", data[:200] + b"x" + data[201:]):
        with pytest.raises(DataError, match=r"a\.x: not valid (bzip2|xz) \(.*, after \d+ bytes"):
            list(unpack([wrong], "a.x"))


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_skippable_zstd_frames_belong_to_the_frame_before(size: int) -> None:
    one, three = zstandard.compress(b"one\n"), zstandard.compress(b"three\n")
    skip, other = b"\x50\x2a\x4d\x18\x04\0\0\0abcd", b"\x5f\x2a\x4d\x18\0\0\0\0"
    data = skip + other + one + other + skip + three + skip
    begins: list[int] = []
    pieces = [data[n : n + size] for n in range(0, len(data), size)]
    assert b"".join(unpack_zstandard(pieces, "a.zst", begins)) == b"one\nthree\n"
    assert begins == [0, 20, data.index(three)]
    with pytest.raises(DataError, match=r"a\.zst: the file ends in the middle"):
        list(unpack_zstandard([one + skip[:-1]], "a.zst"))
