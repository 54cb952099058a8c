"""Raw spans: which raw object a row came from, and where in it."""

import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawOrigin, RawSpan, RawSpansWriter, find_raw_span

SPOTS = st.builds(RawSpan, st.integers(0, 2**40), st.integers(2**40, 2**41), st.sampled_from(["", "a/b.py", "ü"]))


def packed(*inputs: Sequence[RawSpan | None]) -> bytes:
    writer = RawSpansWriter()
    for raw_spans in inputs:
        writer.begin_object()
        for raw_span in raw_spans:
            writer.add(raw_span)
    return writer.packed_spans()


@given(st.lists(st.lists(st.none() | SPOTS, max_size=6), max_size=4))
def test_every_row_has_its_raw_object_and_its_spot_back(inputs: list[list[RawSpan | None]]) -> None:
    data = packed(*inputs)
    expected = [RawOrigin(number, raw_span) for number, raw_spans in enumerate(inputs) for raw_span in raw_spans]
    assert [find_raw_span(data, row, "index") for row in range(len(expected))] == expected


def test_rows_at_once_are_packed_as_one_by_one() -> None:
    writer = RawSpansWriter()
    writer.begin_object()
    writer.append_spans([0, 9], [4, 12])
    writer.add(None)
    assert writer.packed_spans() == packed([RawSpan(0, 4), RawSpan(9, 12), None])


def test_the_lines_of_a_file_take_less_than_two_bytes_a_row() -> None:
    ends = np.cumsum(np.random.default_rng(5).lognormal(7, 1, 100_000).astype(np.int64) + 60)
    raw_spans = [RawSpan(int(start), int(end) - 1) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    data = packed(raw_spans)
    assert len(data) < 200_000
    assert find_raw_span(data, 77_777, "index") == RawOrigin(0, raw_spans[77_777])


def test_rows_of_a_converter_that_says_nothing_still_tell_their_raw_object() -> None:
    data = packed([None] * 1000, [], [None] * 1000)
    assert len(data) < 100
    assert [find_raw_span(data, row, "index").number for row in (0, 999, 1000, 1999)] == [0, 0, 2, 2]
    assert find_raw_span(data, 5, "index").raw_span is None


def test_a_shard_without_rows_has_no_spots() -> None:
    assert packed([], []) == b""


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_not_there_is_refused(row: int) -> None:
    with pytest.raises(DataError, match="index: its raw spans of 2 rows have no row"):
        find_raw_span(packed([RawSpan(0, 5), RawSpan(6, 9)]), row, "index")


@pytest.mark.parametrize("harm", ["cut", "noise", "head", "planes"])
def test_damaged_spots_are_refused_by_the_name_of_their_index(harm: str) -> None:
    data = packed([RawSpan(0, 5), RawSpan(6, 9)])
    plain = zlib.decompress(data, wbits=31)
    broken = {
        "cut": data[:-9],
        "noise": b"no gzip",
        "head": zlib.compress(b"[]\n" + plain, wbits=31),
        "planes": zlib.compress(plain[:-1], wbits=31),
    }[harm]
    with pytest.raises(DataError, match=r"^index: .*make its shard again"):
        find_raw_span(broken, 0, "index")
