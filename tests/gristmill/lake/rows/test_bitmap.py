"""Bitmaps of rows: a flag for each row of a shard, as text."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.lake.rows.bitmap import pack_bits, unpack_bits


def flags(*numbers: int, count: int) -> np.ndarray:
    found = np.zeros(count, dtype=np.bool_)
    found[list(numbers)] = True
    return found


def test_the_first_row_is_the_highest_bit_of_the_first_byte() -> None:
    packed = zlib.decompress(base64.b64decode(pack_bits(flags(0, 9, count=10))))
    assert packed == bytes([0b10000000, 0b01000000])


@given(st.lists(st.booleans(), max_size=40))
def test_what_is_packed_comes_back(rows: list[bool]) -> None:
    packed = np.array(rows, dtype=np.bool_)
    back = unpack_bits(pack_bits(packed), len(rows))
    assert back.dtype == np.bool_
    assert back.tolist() == rows


def test_a_million_rows_of_which_one_in_a_hundred_is_held_take_some_tens_of_kilobytes() -> None:
    held = np.random.default_rng(7).random(1_000_000) < 0.01
    text = pack_bits(held)
    assert len(text) < 45_000
    assert (unpack_bits(text, 1_000_000) == held).all()


@pytest.mark.parametrize("count", [0, 8, 17, 24])
def test_another_number_of_bytes_of_rows_is_refused(count: int) -> None:
    with pytest.raises(DataError, match=f"does not have {count} flags"):
        unpack_bits(pack_bits(flags(9, count=10)), count)


def test_a_row_beyond_the_count_is_refused() -> None:
    with pytest.raises(DataError, match="more than 9 flags"):
        unpack_bits(pack_bits(flags(9, count=10)), 9)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "AAAA",
        "ä",
        base64.b64encode(zlib.compress(b"ab")[:-3]).decode(),
        base64.b64encode(zlib.compress(b"ab") + b"c").decode(),
    ],
)
def test_a_text_that_is_no_row_set_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="bitmap of rows"):
        unpack_bits(text, 16)


def test_a_text_that_would_unpack_into_a_gigabyte_is_refused_at_its_second_byte() -> None:
    with pytest.raises(DataError, match="does not have 8 flags"):
        unpack_bits(base64.b64encode(zlib.compress(bytes(1 << 24))).decode(), 8)
