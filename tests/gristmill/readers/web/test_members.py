"""Members of gzip files: their bytes, and how the next one is found after damage."""

import gzip
import io
import random

import pytest
from warcfile import packed, page

from gristmill.errors import DataError
from gristmill.readers.web.members import Damaged, Gap, GzipFile, open_warc_members


def all_of(file: GzipFile) -> list[bytes]:
    found = []
    while file.next_member():
        found.append(b"".join(iter(file.piece, b"")))
    return found


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_members_are_told_apart_however_the_file_is_cut(step: int) -> None:
    made = [b"WARC/1", b"", b"WARC/" + random.Random(1).randbytes(3000)]
    data = packed(*made) + bytes(5)
    file = GzipFile(data[at : at + step] for at in range(0, len(data), step))
    assert all_of(file) == made


def test_a_damaged_member_is_passed_over() -> None:
    first, second, third = (gzip.compress(page(n), mtime=0) for n in range(3))
    for at in range(10, len(second), 3):
        data = bytearray(first + second + third)
        data[len(first) + at] ^= 0x10
        file = GzipFile([bytes(data)])
        assert file.next_member()
        assert b"".join(iter(file.piece, b"")) == page(0)
        assert file.next_member()
        with pytest.raises(Damaged):
            b"".join(iter(file.piece, b""))
        gap = file.recover()
        assert isinstance(gap, Gap)
        assert (gap.start, gap.end) == (len(first), len(first) + len(second))
        assert b"".join(iter(file.piece, b"")) == page(2)
        assert not file.next_member()


def test_nothing_is_found_behind_the_last_member() -> None:
    file = GzipFile([packed(page())[:-9]])
    assert file.next_member()
    with pytest.raises(Damaged, match="ends in the middle"):
        b"".join(iter(file.piece, b""))
    assert file.recover() is None


def test_bytes_of_a_large_damaged_member_are_not_all_kept() -> None:
    noise = random.Random(2).randbytes(1 << 20)
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=0, mtime=0) as file:
        for _ in range(40):
            file.write(noise)
    data = whole.getvalue()
    damaged = data[:-4] + b"oops" + packed(page())
    made = GzipFile(damaged[at : at + (1 << 20)] for at in range(0, len(damaged), 1 << 20))
    assert made.next_member()
    with pytest.raises(Damaged):
        b"".join(iter(made.piece, b""))
    gap = made.recover()
    assert gap is not None
    assert gap[:2] == (0, len(data))
    assert b"".join(iter(made.piece, b"")) == page()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"hello world", "begins with b'hello wo'"),
        (b"\x5d\x2a\x4d\x18 and so on", "with a dictionary"),
    ],
)
def test_a_file_that_is_no_warc_is_told_by_its_first_bytes(data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        open_warc_members([data], "a.warc.gz")
