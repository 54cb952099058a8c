"""MinHash: signatures that are equal at a place with a probability that is the Jaccard similarity of two texts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import Hashes, Numbers, mix_hash_bits
from gristmill.text.units.shingles import Shingles, hash_shingles

Signatures = NDArray[np.uint32]

_TOGETHER = 1 << 15  # n-grams of which one value is computed together: their arrays stay in the processor's cache
_MOST = np.uint32(0xFFFFFFFF)

# Odd constants of 64 bits: the fractional part of the golden ratio, and two of the finalizer of wyhash.
_GOLDEN = 0x9E3779B97F4A7C15
_HIGH, _LOW = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
_WORD = 1 << 64


def minhash_signatures(
    texts: Sequence[str], ngram: int, permutations: int, seed: int, normalisation: str = ""
) -> tuple[Numbers, Signatures]:
    """The MinHash signature of each text that has a word.

    Value k of a signature is the least of `h * a[k] mod 2**32` over the 32-bit hashes h of the text's n-grams. As a[k]
    is odd, this permutes the hashes: so two texts have the same value k with the probability that is the Jaccard
    similarity of their sets of n-grams.

    Source: Broder 1997, "On the resemblance and containment of documents".

    Args:
        texts: any texts. White space parts the words of the normalised text.
        ngram: words of an n-gram. A text of fewer words has one shorter n-gram, all its words.
        permutations: values of a signature.
        seed: seed of the permutations.
        normalisation: name of the normalisation of each text; see gristmill.text.units.normalisation.

    Returns:
        The numbers of the texts that have words, ascending (T), and their signatures (T, permutations).

    >>> places, values = minhash_signatures(["a rose is a rose", "", "a rose is a rose is a rose"], 3, 112, 1)
    >>> places.tolist(), values.shape, float((values[0] == values[1]).mean())  # the same three n-grams
    ([0, 2], (2, 112), 1.0)
    """
    odd = odd_factors(permutations, seed)
    places: list[Numbers] = []
    values: list[Signatures] = []
    for column in hash_shingles(texts, ngram, normalisation):
        found = _least_permuted_hashes(column, odd)
        if places and places[-1][-1] == column.places[0]:  # the next piece of a huge text
            np.minimum(values[-1][-1], found[0], out=values[-1][-1])
            continue
        places.append(column.places)
        values.append(found)
    if not places:
        return np.zeros(0, np.int64), np.zeros((0, permutations), np.uint32)
    numbers = np.concatenate(places)
    by = np.argsort(numbers)
    return numbers[by], np.concatenate(values)[by]


def band_hashes(values: Signatures, bands: int) -> Hashes:
    """A 128-bit hash of each band of each signature, into which the number of the band is mixed.

    Args:
        values: signatures (T, permutations).
        bands: number of bands of equal size in each signature.

    Returns:
        The high and the low halves (T, bands, 2).

    >>> _, values = minhash_signatures(["a rose", "a rose"], 2, 4, 1)
    >>> hashes = band_hashes(values, 2)
    >>> hashes.shape, bool((hashes[0] == hashes[1]).all()), bool((hashes[0, 0] == hashes[0, 1]).any())
    ((2, 2, 2), True, False)
    """
    divided = values.reshape(len(values), bands, values.shape[1] // bands)
    hashes = np.empty((len(values), bands, 2), np.uint64)
    numbers = np.arange(1, bands + 1, dtype=np.uint64)
    for half, constant in enumerate((_HIGH, _LOW)):
        state = np.broadcast_to(mix_hash_bits(numbers * np.uint64(constant)), (len(values), bands)).copy()
        for row in range(divided.shape[2]):
            state ^= divided[:, :, row]
            state *= np.uint64(constant)
            state ^= state >> np.uint64(32)
        hashes[:, :, half] = mix_hash_bits(state.reshape(-1)).reshape(state.shape)
    return hashes


def signature_similarities(one: Signatures, other: Signatures) -> NDArray[np.float32]:
    """The share of equal values of pairs of signatures: the estimate of their Jaccard similarities (T).

    Args:
        one: signatures (T, permutations).
        other: signatures of the same shape, uint32.

    >>> signature_similarities(np.array([[1, 2]], np.uint32), np.array([[1, 3]], np.uint32)).tolist()
    [0.5]
    """
    shares: NDArray[np.float32] = (one == other).mean(axis=1, dtype=np.float32)
    return shares


def odd_factors(permutations: int, seed: int) -> Signatures:
    """The odd factor of each permutation.

    Args:
        permutations: number of permutations.
        seed: seed of the recipe.
    """
    numbers = np.arange(1, permutations + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    numbers += mix_hash_bits(np.array([(seed + 1) * _HIGH % _WORD], np.uint64))
    return (mix_hash_bits(numbers) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def _least_permuted_hashes(column: Shingles, odd: Signatures) -> Signatures:
    """The least permuted hash of each text (T, permutations)."""
    hashes = (column.hashes >> np.uint64(32)).astype(np.uint32)
    least = np.full((len(odd), len(column.places)), _MOST, np.uint32)
    permuted = np.empty(min(_TOGETHER, len(hashes)), np.uint32)
    for at in range(0, len(hashes), _TOGETHER):
        part = hashes[at : at + _TOGETHER]
        first = int(np.searchsorted(column.bounds, at, side="right")) - 1
        last = int(np.searchsorted(column.bounds, at + len(part)))
        cuts = np.maximum(column.bounds[first:last] - at, 0)
        into = permuted[: len(part)]
        for number, factor in enumerate(odd):
            np.multiply(part, factor, out=into)
            # The text at either end may have n-grams in other parts.
            row = least[number, first:last]
            np.minimum(row, np.minimum.reduceat(into, cuts), out=row)
    return np.ascontiguousarray(least.T)
