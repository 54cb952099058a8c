"""bz2 files block by block: the same bytes as the library gives, and an error for each damage."""

import bz2
import random

import pytest

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import RawPart
from gristmill.readers.parts.bzip2 import bz2_units


def read(data: bytes, piece: int = 1 << 20) -> bytes:
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))
    return b"".join(each for each in bz2_units(pieces, "a.bz2", RawPart(0, len(data))) if isinstance(each, bytes))


def blocks(count: int) -> bytes:
    return random.Random(1).randbytes(95_000) * count  # level 1 has blocks of 100 kB


@pytest.mark.parametrize("piece", [13, 4096, 1 << 20])
def test_streams_and_blocks_give_the_bytes_of_the_library(piece: int) -> None:
    data = bz2.compress(blocks(2), 1) + bz2.compress(b"") + bz2.compress(b"short", 9)
    assert read(data, piece) == bz2.decompress(data)


def test_a_text_that_repeats_itself_is_unpacked_in_pieces() -> None:
    data = bz2.compress(b"a" * (20 << 20))
    pieces = [len(each) for each in bz2_units(iter([data]), "a.bz2", RawPart(0, len(data))) if isinstance(each, bytes)]
    assert (sum(pieces), max(pieces)) == (20 << 20, 4 << 20)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda data: data[:-1], "it was truncated, at byte"),
        (lambda data: data[: len(data) // 2], "the file was truncated, or is damaged, after byte"),
        (
            lambda data: data[:-8] + bytes([data[-8] ^ 255]) + data[-7:],
            "the file was truncated, or is damaged, after byte",
        ),
        (lambda data: data + b"more", "no stream begins at byte"),
        (lambda data: b"PK" + data[2:], "no stream begins at byte 0"),
        (lambda data: data[:1000] + bytes([data[1000] ^ 1]) + data[1001:], "the bz2 block at byte 4 is damaged"),
        (
            lambda data: data[:-2] + bytes([data[-2] ^ 64]) + data[-1:],
            "checksum of the bz2 stream that ends behind byte",
        ),
        (lambda data: data[:4], "no stream begins at byte 0"),
        (lambda data: data[:500] + bytes(3 << 20), "a block does not end, after byte 4"),
        (lambda data: data[:4] + bytes(3 << 20), "no stream begins at byte 0"),
    ],
)
def test_damage_is_an_error_that_names_the_place(wrong: object, words: str) -> None:
    assert callable(wrong)
    with pytest.raises(DataError, match=rf"^a.bz2: .*({words})"):
        read(wrong(bz2.compress(blocks(2), 1)))
