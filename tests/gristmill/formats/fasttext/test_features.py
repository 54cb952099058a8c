from itertools import pairwise

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.fasttext.features import MISSING, Features, words_of

BUCKETS = 97


def one_by_one(features: Features, word: bytes) -> list[int]:
    """The rows of a word, byte by byte."""
    rows = [features.words[word]] if word in features.words else []
    wrapped = "<" + word.decode() + ">"
    for start in range(len(wrapped)):
        for length in range(features.shortest, features.longest + 1):
            piece = wrapped[start : start + length]
            if len(piece) == length:
                rows.append(int(features.buckets[fnv(piece.encode()) % BUCKETS]))
    return [row for row in rows if row != MISSING]


def fnv(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
    return value


def made(shortest: int, longest: int) -> Features:
    """Every third bucket has no row."""
    rows = np.arange(BUCKETS, dtype=np.uint16) + 2
    rows[::3] = MISSING
    return Features({b"a": 0, "mühle".encode(): 1}, shortest, longest, rows)


words = st.text(st.sampled_from("aüb磨👪<>é"), min_size=1, max_size=9) | st.sampled_from(["a", "mühle"])


@settings(max_examples=draws(100))
@given(st.lists(words, max_size=5), st.sampled_from([(2, 2), (2, 4), (3, 6)]))
def test_rows_are_those_of_each_word_and_each_of_its_ngrams(given_words: list[str], lengths: tuple[int, int]) -> None:
    features = made(*lengths)
    coded = [word.encode() for word in given_words]
    found = features.of(coded)
    split = [found.rows[start:end].tolist() for start, end in pairwise(found.bounds)]
    assert split == [one_by_one(features, word) for word in coded]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a mill\vat\x0cthe\tstream\r\n", [b"a", b"mill", b"at", b"the", b"stream"]),
        (b"a </s> b", [b"a"]),
        (b"a</s> b", [b"a</s>", b"b"]),
        (b"__label__a b", [b"b"]),
        (b"x__label__ b", [b"x__label__", b"b"]),
        (b" ", []),
    ],
)
def test_words_are_between_white_space_and_before_the_end(text: bytes, expected: list[bytes]) -> None:
    assert words_of(text) == expected
