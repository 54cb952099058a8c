"""Pairs of texts whose sets of n-grams have a known Jaccard similarity."""

import numpy as np

NGRAM = 5


def planted_pair(rng: np.random.Generator, similarity: float, ngrams: int = 300) -> tuple[str, str, float]:
    """Two texts with the same beginning, and their exact similarity, which is near the one that is asked for.

    Args:
        rng: draws the words; no two are equal.
        similarity: that is asked for.
        ngrams: number of n-grams of each text.
    """
    shared = round(2 * ngrams * similarity / (1 + similarity))
    words = [f"{number:x}" for number in rng.integers(0, 10**15, 2 * (ngrams + NGRAM - 1))]
    cut, size = shared + NGRAM - 1, ngrams + NGRAM - 1
    one, other = words[:size], words[:cut] + words[size : 2 * size - cut]
    return " ".join(one), " ".join(other), shared / (2 * ngrams - shared)


def recall(similarity: float, bands: int = 14, rows: int = 8) -> float:
    """The probability that two documents share a band."""
    return float(1 - (1 - similarity**rows) ** bands)


def deviation(probability: float, pairs: int) -> float:
    """The standard deviation of the share that is found among so many pairs."""
    return float((probability * (1 - probability) / pairs) ** 0.5)
