"""Sorting and meeting of hashes against Python's own tuples."""

import itertools

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.stages.dedupe.hash_order import are_ascending, bucket_range, count_up_to, shared_hashes, sort_hashes

LAST = 2**64 - 1
near = st.integers(0, 3)
halves = st.one_of(near, near.map(lambda each: LAST - each), st.integers(0, LAST))
pairs = st.lists(st.tuples(halves, halves), max_size=40)


def split(found: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(found, np.uint64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


@given(found=pairs)
@settings(max_examples=draws(25))
def test_hashes_are_sorted_and_equal_ones_keep_their_order(found: list[tuple[int, int]]) -> None:
    at, hi, lo = sort_hashes(*split(found))
    assert at.tolist() == sorted(range(len(found)), key=found.__getitem__)
    assert list(zip(hi.tolist(), lo.tolist(), strict=True)) == sorted(found)


def test_many_hashes_that_agree_in_their_first_bits_are_sorted() -> None:
    """The low bits of the high halves do not fit beside the places: they are compared in a second sort."""
    random = np.random.default_rng(7)
    hi = random.integers(0, 40, 5000, dtype=np.uint64) + (random.integers(0, 2, 5000, dtype=np.uint64) << np.uint64(63))
    lo = random.integers(0, 3, 5000, dtype=np.uint64)
    at, high, low = sort_hashes(hi, lo)
    assert at.tolist() == np.lexsort((lo, hi)).tolist()
    assert (high.tolist(), low.tolist()) == (hi[at].tolist(), lo[at].tolist())


@given(mine=st.sets(st.tuples(halves, halves), max_size=40), theirs=st.sets(st.tuples(halves, halves), max_size=40))
@settings(max_examples=draws(30))
def test_two_lists_meet_where_both_halves_are_equal(mine: set[tuple[int, int]], theirs: set[tuple[int, int]]) -> None:
    one, other = sorted(mine), sorted(theirs)
    at, to = shared_hashes(*split(one), *split(other))
    assert [one[each] for each in at] == [other[each] for each in to] == sorted(mine & theirs)


def test_ascending_means_distinct_too() -> None:
    assert are_ascending(*split([(1, 5), (1, 6), (2, 0)]))
    assert not are_ascending(*split([(1, 5), (1, 5)]))
    assert not are_ascending(*split([(1, 6), (1, 5)]))
    assert are_ascending(*split([]))


def test_hashes_up_to_one_are_counted() -> None:
    hi, lo = split([(1, 5), (1, 6), (2, 0), (LAST, LAST)])
    ends = [(0, 9), (1, 5), (1, 9), (LAST, 0), (LAST, LAST)]
    assert [count_up_to(hi, lo, (np.uint64(a), np.uint64(b))) for a, b in ends] == [0, 1, 2, 3, 4]


def test_buckets_divide_all_hashes() -> None:
    for buckets in (1, 3, 16, 65536):
        ends = [bucket_range(bucket, buckets) for bucket in range(buckets)]
        assert (ends[0][0], ends[-1][1]) == (0, 2**64)
        assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))
        assert all(low * buckets >> 64 == (high - 1) * buckets >> 64 == n for n, (low, high) in enumerate(ends))
