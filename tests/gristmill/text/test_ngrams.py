"""N-grams that repeat, against counting by hand and a plain reference."""

from collections import Counter

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.ngrams import most_common_ngram_share, repeated_ngram_length
from gristmill.text.words import Words


def test_to_be() -> None:
    words = Words.of(CodePoints.of(["to be or not to be", "be be be", "once"]))
    ((n, pairs),) = words.repeats(2)
    assert (n, most_common_ngram_share(words, 2, pairs).tolist(), repeated_ngram_length(words, 2, pairs).tolist()) == (
        2,
        [8, 8, 0],
        [8, 6, 0],
    )


@settings(max_examples=draws(50))
@given(st.lists(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=25), min_size=1, max_size=4))
def test_all_lengths_agree_with_the_plain_reference(texts: list[list[str]]) -> None:
    column = Words.of(CodePoints.of([" ".join(words) for words in texts]))
    for n, repeats in column.repeats(6):
        common, inside = (
            most_common_ngram_share(column, n, repeats).tolist(),
            repeated_ngram_length(column, n, repeats).tolist(),
        )
        for words, top, all_of_them in zip(texts, common, inside, strict=True):
            grams = [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
            counts = Counter(grams)
            gram, count = counts.most_common(1)[0] if grams else ((), 0)
            assert top == (len("".join(gram)) * count if count > 1 else 0)
            places = {at + i for at, each in enumerate(grams) if counts[each] > 1 for i in range(n)}
            assert all_of_them == sum(len(words[at]) for at in places)


@pytest.mark.parametrize("text", ["", "one", "one two"])
def test_short_texts_have_none(text: str) -> None:
    words = Words.of(CodePoints.of([text]))
    assert [most_common_ngram_share(words, n, repeats).tolist() for n, repeats in words.repeats(4)] == [[0]] * 3
