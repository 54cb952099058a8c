import numpy as np
import pytest
import xxhash
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units import minhash as module
from gristmill.text.units.minhash import band_hashes, minhash_signatures, odd_factors, signature_similarities
from gristmill.text.units.shingles import hash_shingles

WORDS = st.lists(st.sampled_from(["the", "mill", "grinds", "grain", "of", "a", "whole", "valley"]), max_size=40).map(
    " ".join
)
TEXTS = st.lists(WORDS, max_size=6)


@given(TEXTS, st.integers(1, 3), st.integers(0, 5))
@settings(max_examples=draws(40))
def test_a_value_is_the_least_permuted_hash_of_its_text(texts: list[str], ngram: int, seed: int) -> None:
    factors = odd_factors(6, seed)
    places, values = minhash_signatures(texts, ngram, 6, seed)
    assert places.tolist() == [place for place, text in enumerate(texts) if text]
    assert all(int(factor) % 2 for factor in factors)
    for place, signature in zip(places.tolist(), values, strict=True):
        (alone,) = hash_shingles([texts[place]], ngram)
        high = [int(each) >> 32 for each in alone.hashes]
        assert signature.tolist() == [min(each * int(factor) % 2**32 for each in high) for factor in factors]


@given(TEXTS, st.integers(1, 50))
@settings(max_examples=draws(30))
def test_the_size_of_a_part_changes_nothing(texts: list[str], size: int) -> None:
    _, whole = minhash_signatures(texts, 3, 16, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", size)
        patch.setattr("gristmill.text.units.shingles._COLUMN", size)
        patch.setattr("gristmill.text.units.shingles._LONG", size)
        assert minhash_signatures(texts, 3, 16, 1)[1].tolist() == whole.tolist()


def test_equal_values_estimate_the_jaccard_similarity() -> None:
    """200 texts of 120 words of which 90 are shared: 86 of 146 5-grams are. The mean of 22,400 values is near that."""
    rng = np.random.default_rng(7)
    pairs = []
    for _ in range(200):
        words = [f"w{number}" for number in rng.integers(0, 10**9, 150)]
        pairs += [" ".join(words[:90] + words[90:120]), " ".join(words[:90] + words[120:])]
    _, values = minhash_signatures(pairs, 5, 112, 1)
    estimates = signature_similarities(values[::2], values[1::2])
    assert abs(float(estimates.mean()) - 86 / 146) < 0.015  # four standard errors
    assert 0.03 < float(estimates.std()) < 0.06  # sqrt(s * (1 - s) / 112) is 0.046: values are drawn apart


def test_signatures_and_bands_stay_the_same_in_all_versions() -> None:
    """They are stored. If this fails, raise FINGERPRINTING."""
    _, values = minhash_signatures(["The mill grinds the grain of the valley", "naïve 字 mill", "one"], 5, 112, 1)
    assert xxhash.xxh3_64_hexdigest(values.astype("<u4").tobytes()) == "a31e1028b28c58b5"
    assert xxhash.xxh3_64_hexdigest(band_hashes(values, 14).astype("<u8").tobytes()) == "292902b66ac75ca1"


def test_bands_are_equal_where_their_values_and_numbers_are() -> None:
    values = np.array([[1, 2, 3, 4], [1, 2, 3, 5], [3, 4, 1, 2], [2, 1, 3, 4]], np.uint32)
    hashes = [[tuple(pair) for pair in row] for row in band_hashes(values, 2).tolist()]
    assert hashes[0][0] == hashes[1][0]
    assert hashes[0][1] == hashes[3][1]
    assert len({pair for row in hashes for pair in row}) == 6  # of 8 bands, two pairs are equal


def test_no_texts_have_no_signatures() -> None:
    places, values = minhash_signatures(["", " \n"], 5, 112, 1)
    assert places.shape == (0,)
    assert values.shape == (0, 112)
    assert band_hashes(values, 14).shape == (0, 14, 2)
