"""Gzip members as they are found in a stream. Damaged files: tests/gristmill/lake/rows/test_shard_file.py."""

import gzip

import pytest

from gristmill.errors import DataError
from gristmill.lake.rows.unpacking import gunzipped

PACKED = [gzip.compress(text, mtime=0) for text in (b"one\n", b"", b"three\n")]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_each_member_is_announced_before_its_first_bytes(size: int) -> None:
    data = b"".join(PACKED)
    begins: list[int] = []
    pieces = (data[n : n + size] for n in range(0, len(data), size))
    found = [(len(begins), plain) for plain in gunzipped(pieces, "a.gz", begins)]
    first, second = len(PACKED[0]), len(PACKED[0]) + len(PACKED[1])
    assert begins == [0, first, second]
    assert b"".join(plain for number, plain in found if number == 1) == b"one\n"
    assert b"".join(plain for number, plain in found if number == 3) == b"three\n"


def test_a_member_that_is_cut_is_an_error_with_the_mend() -> None:
    with pytest.raises(DataError, match=r"a\.gz: the file ends in the middle: .*; acquire or rebuild"):
        list(gunzipped([PACKED[0], PACKED[2][:-3]], "a.gz"))
