"""Hashes by bucket: equal to a plain sort, in memory and through a file."""

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.stages.fingerprints import bucket_sort
from gristmill.stages.fingerprints.bucket_sort import BucketSort, bucket_numbers
from gristmill.text.units.hashes import Hashes128

HALF = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]))


@settings(max_examples=draws(40))
@given(
    st.lists(st.lists(st.tuples(HALF, HALF), max_size=6), max_size=8),
    st.sampled_from([1, 2, 3, 16, 257, 2048]),
    st.sampled_from([2, 5, 1 << 20]),
)
def test_blocks_are_those_of_a_plain_sort(parts: list[list[tuple[int, int]]], buckets: int, run: int) -> None:
    sort = BucketSort(buckets, run)
    for part in parts:
        high, low = (np.array([pair[half] for pair in part], np.uint64) for half in (0, 1))
        sort.add(Hashes128(high, low))
    flat = [pair for part in parts for pair in part]
    expected: dict[int, list[tuple[int, int, int]]] = {}
    for ordinal, (one, two) in enumerate(flat):
        expected.setdefault(one * buckets >> 64, []).append((one, two, ordinal))
    found = {}
    seen = []
    for bucket, count, columns in sort.blocks():
        seen.append(bucket)
        data = b"".join(column.tobytes() for column in columns)
        halves = np.frombuffer(data, "<u8", 2 * count).reshape(2, count).tolist()
        if count:
            ordinals = np.frombuffer(data, "<u4", count, 16 * count).tolist()
            found[bucket] = list(zip(*halves, ordinals, strict=True))
    sort.close()
    assert found == expected
    assert (seen, sort.hashes) == (list(range(buckets)), len(flat))


@settings(max_examples=draws(50))
@given(st.lists(HALF, max_size=5), st.integers(1, 65536))
def test_the_bucket_of_a_hash_is_exact(high: list[int], buckets: int) -> None:
    assert bucket_numbers(np.array(high, np.uint64), buckets).tolist() == [each * buckets >> 64 for each in high]


def test_more_hashes_than_ordinals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_sort, "MOST_HASHES", 2)
    sort = BucketSort(4)
    sort.add(Hashes128(np.zeros(2, np.uint64), np.zeros(2, np.uint64)))
    with pytest.raises(DataError, match="more than 2 units"):
        sort.add(Hashes128(np.zeros(1, np.uint64), np.zeros(1, np.uint64)))
