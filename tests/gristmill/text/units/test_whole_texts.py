"""Whole documents: by keys, and by signatures."""

import numpy as np
import xxhash

from gristmill.text.units.minhash import band_hashes, minhash_signatures
from gristmill.text.units.whole_texts import hash_document_bands, hash_document_keys


def test_equal_keys_have_equal_hashes_and_empty_ones_none() -> None:
    one = hash_document_keys(["to  be", None, " ", "to be", "", "\ud800"], [6, 1, 1, 5, 0, 1], "white-space-1")
    assert (one.spans.tolist(), one.starts.tolist(), one.ends.tolist()) == ([1, 0, 0, 1, 0, 1], [0, 0, 0], [6, 5, 1])
    found = [high << 64 | low for high, low in zip(*(half.tolist() for half in one.hashes), strict=True)]
    digest = xxhash.xxh3_128_intdigest(b"to be")
    assert found == [digest, digest, xxhash.xxh3_128_intdigest(b"\xed\xa0\x80")]
    assert one.skipped == {"empty": 2}


def test_a_document_has_a_hash_for_each_band_and_one_without_words_has_none() -> None:
    texts = ["To be, or not to be", "--", "to be or not to be"]
    ((units, values),) = hash_document_bands(texts, 2, 3, 4, 9, "words-1")
    assert (units.spans.tolist(), units.ends.tolist(), units.skipped) == ([1, 0, 1], [19, 18], {"empty": 1})
    assert units.counts is not None
    assert units.counts.tolist() == [3, 3]
    places, plain = minhash_signatures(["to be or not to be"], 2, 12, 9)
    assert places.tolist() == [0]
    assert (values[[0, 2]] == plain).all()
    assert not values[1].any()
    bands = band_hashes(plain, 3)[0]
    assert np.array_equal(units.hashes.high, np.tile(bands[:, 0], 2))
    assert np.array_equal(units.hashes.low, np.tile(bands[:, 1], 2))
