from itertools import pairwise

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.fasttext.features import MISSING, Features, words_of
from gristmill.formats.fasttext.word_rows import WordRows


def made() -> Features:
    """Words have n-grams of 2 and 3 characters; every third bucket has no row."""
    buckets = np.arange(97, dtype=np.uint16) + 2
    buckets[::3] = MISSING
    return Features({b"a": 0, "m\u00fchle".encode(): 1}, 2, 3, buckets)


def word_by_word(text: bytes) -> list[int]:
    features = made()
    return [row for word in words_of(text) for row in features.of([word]).rows.tolist()]


def of(rows: WordRows, texts: list[bytes]) -> list[list[int]]:
    found = rows.of(texts)
    return [found.rows[start:end].tolist() for start, end in pairwise(found.bounds)]


LONG = "twenty-four-bytes-long-x"
pieces = st.sampled_from(
    ["a", "m\u00fchle", "</s>", "__label__x", "><", "\u78e8\u574a", " ", "\t", "\n", "\x0b", "\x1f", LONG, LONG + "y"]
)
texts = st.lists(st.lists(pieces).map("".join).map(str.encode), max_size=5)


@pytest.mark.slow
@settings(max_examples=draws(100))
@given(st.lists(texts, max_size=4), st.sampled_from([0, 40, 10_000]))
def test_rows_are_those_of_each_word_whatever_was_seen_before(batches: list[list[bytes]], remembered: int) -> None:
    rows = WordRows(made(), remembered)
    for batch in batches:
        assert of(rows, batch) == [word_by_word(text) for text in batch]


def test_words_that_share_a_slot_are_told_apart() -> None:
    # There are 65,536 slots, so some of these words share one.
    words = [f"w{number}".encode() for number in range(5_000)]
    rows = WordRows(made())
    found = rows.of([b" ".join(words)])
    assert found.rows.tolist() == made().of(words).rows.tolist()
    assert found.rows.tolist() == rows.of([b" ".join(words)]).rows.tolist()


def test_words_that_differ_behind_their_first_bytes_are_told_apart() -> None:
    ends = [b"x", b"y", b"", b"xy"]
    for size in (7, 8, 15, 16, 23, 24):
        batch = [b"m" * size + end for end in ends]
        rows = WordRows(made())
        for _ in range(2):
            assert of(rows, batch) == [word_by_word(text) for text in batch]


@pytest.mark.parametrize("text", [b"", b" ", b"</s> a", b"__label__a"])
def test_a_text_without_words_has_no_row(text: bytes) -> None:
    found = WordRows(made()).of([text, b"a", text])
    assert found.bounds[1] == 0
    assert found.bounds[2] == found.bounds[3] == len(found.rows) > 0


def test_memory_is_bounded() -> None:
    rows = WordRows(made(), 1_000)
    for number in range(30):
        rows.of([b" ".join(b"w%d" % (each + 100 * number) for each in range(100))])
        assert rows.remembered < 2_000
