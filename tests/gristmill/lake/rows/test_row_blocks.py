"""Blocks of rows: the same rows however the pieces come, and a row that is too long costs no memory."""

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import run_with_peak

from gristmill.errors import DataError
from gristmill.lake.rows.row_blocks import HEAD, LongRow, limited_blocks, read_row_blocks
from gristmill.lake.rows.shard_file import split_rows

ROWS = st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=30)


@settings(max_examples=draws(100))
@given(
    rows=st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=30),
    cut=st.integers(1, 40),
    size=st.integers(1, 60),
)
def test_blocks_are_whole_rows_however_the_pieces_come(rows: list[bytes], cut: int, size: int) -> None:
    data = b"".join(row + b"\n" for row in rows)
    found = list(read_row_blocks((data[i : i + cut] for i in range(0, len(data), cut)), "a.jsonl", size))
    assert b"".join(found) == data
    assert all(block.endswith(b"\n") for block in found)
    assert all(len(block) + cut > size for block in found[:-1])
    assert [row for block in found for row in split_rows(block)] == rows


@settings(max_examples=draws(100))
@given(
    rows=ROWS,
    cut=st.integers(1, 40),
    size=st.integers(1, 60),
    limit=st.integers(0, 25),
    end=st.sampled_from([b"", b"\n"]),
)
def test_which_rows_are_too_long_does_not_depend_on_the_pieces(
    rows: list[bytes], cut: int, size: int, limit: int, end: bytes
) -> None:
    data = b"\n".join(rows) + (end if rows else b"")
    found: list[bytes | LongRow] = []
    for block in limited_blocks((data[i : i + cut] for i in range(0, len(data), cut)), limit, size):
        found += [block] if isinstance(block, LongRow) else split_rows(block)
    rows = rows if end or not rows or rows[-1] else rows[:-1]  # nothing after the last line feed is no row
    assert found == [LongRow(row, len(row)) if len(row) > limit else row for row in rows]


def test_a_long_row_keeps_its_head_alone() -> None:
    pieces = [b"a\n", b"b" * HEAD, b"b" * 7, b"bb\nc"]
    assert list(limited_blocks(pieces, 100)) == [b"a\n", LongRow(b"b" * HEAD, HEAD + 9), b"c\n"]


def test_all_bytes_of_a_row_that_is_too_long_are_told_before_it() -> None:
    data = b"a\nbcdefgh\nij\nklmnop"
    for cut in range(1, len(data) + 1):
        told: list[bytes] = []
        seen = []
        pieces = (data[i : i + cut] for i in range(0, len(data), cut))
        for found in limited_blocks(pieces, 3, on_long=told.append):
            seen += [(found.head, b"".join(told))] if isinstance(found, LongRow) else []
            told.clear()
        assert seen == [(b"bcdefgh", b"bcdefgh"), (b"klmnop", b"klmnop")]


def test_a_long_row_of_a_lake_is_an_error_that_says_where() -> None:
    found = read_row_blocks([b"one\n", b"three"], "x/00.jsonl.gz", size=1, limit=4)
    assert next(found) == b"one\n"
    with pytest.raises(DataError, match=r"x/00\.jsonl\.gz: the row after 4 bytes of text has 5 bytes, .* at most 4"):
        next(found)


LONG = """
import sys
from gristmill.lake.rows.row_blocks import limited_blocks
before = peak()
piece = b"a" * (1 << 20)
pieces = (piece for _ in range(2000))
(row,) = limited_blocks(pieces, 16 << 20)
print(row.length, len(row.head), peak() - before)
"""


def test_a_row_of_two_gigabytes_is_skipped_in_little_memory() -> None:
    length, head, more = map(int, run_with_peak(LONG).split())
    assert (length, head) == (2000 << 20, HEAD)
    assert more < 64  # MiB: the limit is 16, the row 2000
