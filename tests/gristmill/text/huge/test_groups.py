from collections import Counter

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import mix_hash_bits
from gristmill.text.huge.groups import Groups, ngram_groups

STRETCHES = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8)


def keys_of(values: list[int]) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    return mix_hash_bits(np.array(values, np.uint64) + np.uint64(1))


@settings(max_examples=draws(100))
@given(STRETCHES, st.integers(1, 5))
def test_groups_are_the_keys_that_occur_twice_whatever_the_passes(stretches: list[list[int]], part: int) -> None:
    values = [value for stretch in stretches for value in stretch]
    starts = np.cumsum([0, *map(len, stretches)]).tolist()
    places = [np.arange(len(each)) + start for start, each in zip(starts, stretches, strict=False)]
    groups = Groups.of(len(values), places, keys_of(values).take, part)
    counts = Counter(values)
    assert (groups.numbers > 0).tolist() == [counts[value] > 1 for value in values]
    assert len(
        {(value, number) for value, number in zip(values, groups.numbers.tolist(), strict=True) if number}
    ) == sum(count > 1 for count in counts.values())
    assert groups.repeated == sum(count for count in counts.values() if count > 1)
    if groups.repeated:
        common = max(values, key=lambda value: counts[value])  # of several the first
        assert (groups.count, groups.first) == (counts[common], values.index(common))
    else:
        assert (groups.count, groups.first) == (0, 0)


@settings(max_examples=draws(60))
@given(STRETCHES, st.integers(1, 5))
def test_ngrams_repeat_as_tuples_do(stretches: list[list[int]], part: int) -> None:
    values = [value for stretch in stretches for value in stretch]
    hashes = [keys_of(each) for each in stretches]
    for n, groups in ngram_groups(hashes, 5, part):
        grams = [tuple(values[start : start + n]) for start in range(len(values) - n + 1)]
        counts = Counter(grams)
        expected = [counts[gram] > 1 for gram in grams] + [False] * (len(values) - len(grams))
        assert (groups.numbers > 0).tolist() == expected
    assert hashes == []
