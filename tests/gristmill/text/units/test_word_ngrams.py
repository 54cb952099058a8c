"""N-grams of words: those of a plain loop, whatever the texts beside them and the size of the parts."""

from itertools import pairwise

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units.hashes import hash_word_sequences, word_hashes
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.unit_hashes import TextGroup
from gristmill.text.units.word_ngrams import Ngrams, huge_paragraph, ngram_paragraphs

TEXT = st.text(st.sampled_from("ab   A\n\n,\x1c\xa0é日\u3000😀\ud800"), max_size=60)
NGRAMS = st.builds(
    Ngrams, st.integers(1, 4), st.integers(1, 3), st.booleans(), st.sampled_from(["", "white-space-1", "words-1"])
)
Row = tuple[int, int, int, list[tuple[int, int]]]


def hash_of(words: list[str]) -> tuple[int, int]:
    data = [word.encode("utf-8", "surrogatepass") for word in words]
    edges = np.cumsum([0, *map(len, data)])
    found = hash_word_sequences(
        word_hashes(b"".join(data), edges[:-1], edges[1:]), np.array([0]), np.array([len(words)])
    )
    return int(found.high[0]), int(found.low[0])


def plain(text: str, ngrams: Ngrams) -> list[tuple[int, int]]:
    words = normalise_text(text, ngrams.normalisation).split()
    if len(words) < ngrams.length:
        return [hash_of(words)] if words and not ngrams.skip_short else []
    firsts = range(0, len(words) - ngrams.length + 1, ngrams.stride)
    return [hash_of(words[first : first + ngrams.length]) for first in firsts]


@settings(max_examples=draws(120))
@given(st.lists(TEXT, max_size=4), NGRAMS, st.sampled_from(["\n", "\n\n"]))
def test_ngrams_of_paragraphs(texts: list[str], ngrams: Ngrams, separator: str) -> None:
    expected: list[Row] = []
    for number, text in enumerate(texts):
        start = 0
        for piece in text.split(separator):
            hashes = plain(piece, ngrams)
            if hashes:
                expected.append((number, start, start + len(piece), hashes))
            start += len(piece) + len(separator)
    found: list[Row] = []
    for part in ngram_paragraphs(texts, ngrams, separator):
        pairs = list(zip(part.hashes.high.tolist(), part.hashes.low.tolist(), strict=True))
        edges: list[int] = np.cumsum([0, *([] if part.counts is None else part.counts.tolist())]).tolist()
        hashes_of = [pairs[a:b] for a, b in pairwise(edges)]
        numbers = np.repeat(np.arange(len(part.spans)) + part.first, part.spans).tolist()
        found += zip(numbers, part.starts.tolist(), part.ends.tolist(), hashes_of, strict=True)
    assert found == expected


@settings(max_examples=draws(120))
@given(TEXT, NGRAMS, st.integers(1, 20))
def test_a_huge_paragraph_has_the_ngrams_that_it_has_as_one(text: str, ngrams: Ngrams, size: int) -> None:
    parts = list(huge_paragraph(TextGroup(0, [text], 7), ngrams, size))
    found = [pair for part in parts for pair in zip(part.hashes.high.tolist(), part.hashes.low.tolist(), strict=True)]
    assert found == plain(text, ngrams)
    counts = [count for part in parts if part.counts is not None for count in part.counts.tolist()]
    assert counts == ([len(found)] if found else [])
    assert [part.spans.tolist() for part in parts[:-1]] == [[0]] * (len(parts) - 1)
    if found:
        assert (parts[-1].starts.tolist(), parts[-1].ends.tolist()) == ([7], [7 + len(text)])


@pytest.mark.parametrize(("text", "reason"), [("a b", "fewer words than an n-gram"), ("!!", "empty")])
def test_what_is_left_out_is_counted(text: str, reason: str) -> None:
    (one,) = ngram_paragraphs([text], Ngrams(3, 1, skip_short=True, normalisation="words-1"))
    assert (one.skipped, one.spans.tolist(), len(one.hashes.low)) == ({reason: 1}, [0], 0)
