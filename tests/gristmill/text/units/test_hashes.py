"""Hashes: equal to plain computations of what their docstrings say."""

import numpy as np
import xxhash
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units.hashes import Hashes128, hash_pieces, hash_word_sequences, word_hashes

MASK = 2**64 - 1


def mixed(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def plain_word(word: bytes) -> tuple[int, int]:
    if len(word) > 16:
        number = xxhash.xxh3_128_intdigest(word)
        return number >> 64, number & MASK
    p, q = int.from_bytes(word[:8], "little"), int.from_bytes(word[8:], "little")
    a = mixed(p + len(word) * 0x9E3779B97F4A7C15 & MASK)
    b = mixed(q ^ a)
    high = a + b * 0xC2B2AE3D27D4EB4F & MASK
    return high, mixed(b ^ high)


def plain_sequence(words: list[int], factor: int) -> int:
    """The hash of words, by halves: the longest power of two first."""
    if len(words) == 1:
        return words[0]
    size = 1 << (len(words).bit_length() - 1)
    size = size // 2 if size == len(words) else size
    left, right = plain_sequence(words[:size], factor), plain_sequence(words[size:], factor)
    value = left * factor + right & MASK
    return value ^ value >> 32


def pairs(hashes: Hashes128) -> list[tuple[int, int]]:
    return list(zip(hashes.high.tolist(), hashes.low.tolist(), strict=True))


@settings(max_examples=draws(60))
@given(st.lists(st.binary(min_size=1, max_size=24), min_size=1, max_size=20))
def test_the_hash_of_a_word_is_that_of_its_bytes_wherever_it_stands(words: list[bytes]) -> None:
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    found = word_hashes(b" ".join(words), starts, ends)
    assert pairs(found) == [plain_word(word) for word in words]


@settings(max_examples=draws(60))
@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 40)), min_size=1, max_size=12))
def test_the_hash_of_a_sequence_is_combined_by_halves(count: int, asked: list[tuple[int, int]]) -> None:
    words = word_hashes(bytes(range(count)), np.arange(count), np.arange(1, count + 1))
    spans = [(start % count, min(size, count - start % count)) for start, size in asked]
    starts, counts = (np.array(each) for each in zip(*spans, strict=True))
    found = hash_word_sequences(words, starts, counts)
    for place, (start, size) in enumerate(spans):
        for half, factor in ((0, 0x9E3779B185EBCA87), (1, 0x165667B19E3779FB)):
            plain = plain_sequence(words[half][start : start + size].tolist(), factor)
            assert found[half][place] == plain


def test_sequences_of_few_different_words_have_different_hashes() -> None:
    words = word_hashes(b"ab" * 5000, np.arange(10_000), np.arange(1, 10_001))
    chosen = np.random.default_rng(1).integers(0, 2, 60_000)
    found = hash_word_sequences(words.take(chosen), np.arange(60_000 - 15), np.full(60_000 - 15, 16))
    seen = {tuple(chosen[start : start + 16]) for start in range(60_000 - 15)}
    assert len(set(found.high.tolist())) == len(set(found.low.tolist())) == len(seen)


def test_digests_are_those_of_xxh3() -> None:
    pieces = [b"", b"mill", b"x" * 300]
    assert [high << 64 | low for high, low in pairs(hash_pieces(pieces))] == [
        xxhash.xxh3_128_intdigest(p) for p in pieces
    ]
