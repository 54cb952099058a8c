import statistics

import numpy as np

from gristmill.text.code_points import CodePoints
from gristmill.text.words import Words

TEXTS = ["a bb  a bb a", "", " \t\u00a0", "a bb", "x" * 70 + " " + "y" * 80 + " z"]


def words_of(texts: list[str]) -> Words:
    return Words.of(CodePoints.of(texts))


def test_words_are_those_of_split() -> None:
    words = words_of(TEXTS)
    assert words.counts.tolist() == [len(text.split()) for text in TEXTS] == [5, 0, 0, 2, 3]
    assert words.lengths.tolist() == [len(word) for text in TEXTS for word in text.split()]
    assert words.sizes.tolist() == [7, 0, 0, 3, 151]


def test_medians_are_exact_for_even_counts_long_words_and_no_words() -> None:
    expected = [statistics.median([len(word) for word in text.split()] or [0]) for text in TEXTS]
    assert words_of(TEXTS).medians().tolist() == expected == [1, 0, 0, 1.5, 70]


def test_chosen_words_are_counted_by_text() -> None:
    words = words_of(TEXTS)
    assert words.per_text(words.lengths > 1).tolist() == [2, 0, 0, 1, 2]


def test_n_grams_repeat_within_their_text_alone() -> None:
    found = {n: repeats.places.tolist() for n, repeats in words_of(TEXTS).repeats(4)}
    # "a bb" stands at words 0 and 2, "bb a" at 1 and 3, "a bb a" at 0 and 2; the "a bb" of the fourth text is alone.
    assert found == {2: [0, 1, 2, 3], 3: [0, 2], 4: []}


def test_a_window_is_all_n_grams_of_a_text_together() -> None:
    # "a bb", "bb a", "a bb", "bb a" have three code points each; a text of two words has one pair.
    assert words_of(TEXTS).windows(2).tolist() == [12, 0, 0, 3, 150 + 81]
    assert words_of(TEXTS).windows(3).tolist() == [4 + 5 + 4, 0, 0, 0, 151]
    assert not np.any(words_of(["", "a"]).windows(2))
