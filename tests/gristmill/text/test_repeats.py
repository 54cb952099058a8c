import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gristmill.text.repeats import Repeats


def test_keys_that_occur_twice_are_found_where_they_stand() -> None:
    high = np.array([5, 7, 5, 9, 7, 5], np.uint64) << np.uint64(60)
    found = Repeats.of(high)
    assert found.places.tolist() == [0, 1, 2, 4, 5]
    first, second = found.groups[0], found.groups[1]
    assert found.groups.tolist() == [first, second, first, second, first]
    assert (found.counts[first], found.firsts[first]) == (3, 0)
    assert (found.counts[second], found.firsts[second]) == (2, 1)


def test_no_keys_have_no_repeats() -> None:
    assert Repeats.of(np.zeros(0, np.uint64)).places.tolist() == []


@given(st.lists(st.integers(0, 9) | st.integers(0, 9).map(lambda n: n << 60), max_size=40))
def test_keys_that_differ_in_low_bits_only_are_told_apart(keys: list[int]) -> None:
    found = Repeats.of(np.array(keys, np.uint64))
    assert found.places.tolist() == [place for place, key in enumerate(keys) if keys.count(key) > 1]
    for place, group in zip(found.places.tolist(), found.groups.tolist(), strict=True):
        assert found.counts[group] == keys.count(keys[place])
        assert found.firsts[group] == keys.index(keys[place])
