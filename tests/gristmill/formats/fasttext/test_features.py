import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.fasttext.features import Features

BUCKETS = 97


def one_by_one(features: Features, text: bytes) -> list[int]:
    """The rows of a text, word by word and byte by byte."""
    rows: list[int] = []
    for word in text.split():
        if word == b"</s>":
            break
        if word.startswith(b"__label__"):
            continue
        rows += [features.words[word]] if word in features.words else []
        wrapped = "<" + word.decode() + ">"
        for start in range(len(wrapped)):
            for length in range(features.shortest, features.longest + 1):
                piece = wrapped[start : start + length]
                if len(piece) == length and (length > 1 or 0 < start < len(wrapped) - 1):
                    rows.append(int(features.buckets[fnv(piece.encode()) % BUCKETS]))
    return [row for row in rows if row != features.missing]


def fnv(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
    return value


def made(shortest: int, longest: int) -> Features:
    """Every third bucket has no row."""
    rows = np.arange(BUCKETS, dtype=np.uint16) + 2
    rows[::3] = 999
    return Features({b"a": 0, "mühle".encode(): 1}, shortest, longest, rows, 999)


texts = st.lists(st.sampled_from(["a", "mühle", "</s>", "__label__x", "><", "磨坊", "👪", " ", "\t", "\n", "é", "b"]))


@settings(max_examples=draws(100), deadline=None)
@given(st.lists(texts, max_size=5), st.sampled_from([(1, 1), (1, 3), (2, 4), (3, 6), (1, 0)]))
def test_rows_are_those_of_each_word_and_each_of_its_ngrams(pieces: list[list[str]], lengths: tuple[int, int]) -> None:
    features = made(*lengths)
    coded = ["".join(piece).encode() for piece in pieces]
    found = features.of(coded)
    split = [found.rows[start:end].tolist() for start, end in zip(found.bounds, found.bounds[1:], strict=False)]
    assert split == [one_by_one(features, text) for text in coded]


@pytest.mark.parametrize("text", [b"", b" ", b"</s> a", b"__label__a"])
def test_a_text_without_words_has_no_row(text: bytes) -> None:
    found = made(2, 4).of([text, b"a", text])
    assert found.bounds[1] == 0
    assert found.bounds[2] == found.bounds[3] == len(found.rows) > 0
