"""Whole documents as units: by a key, and by the signatures of near duplicates."""

from collections.abc import Iterator, Sequence

import numpy as np

from gristmill.text.units.hashes import Digests, Hashes128, hash_pieces
from gristmill.text.units.minhash import Signatures, band_hashes, minhash_signatures
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.pieces_between import EMPTY
from gristmill.text.units.unit_hashes import UnitHashes, text_groups
from gristmill.text.units.utf8_column import encoded_text


def hash_document_keys(
    keys: Sequence[str | None], lengths: Sequence[int], normalisation: str = "", hashed: Digests = hash_pieces
) -> UnitHashes:
    """The documents, each with a hash of its key. One whose key is None or empty has no span.

    Args:
        keys: keys of the documents (T).
        lengths: lengths of their texts, in code points (T): a span is a whole text.
        normalisation: name of the normalisation of each key before it is hashed.
        hashed: function that computes the hashes.

    >>> one = hash_document_keys(["a", None, "", "a"], [5, 5, 5, 7])
    >>> one.spans.tolist(), one.ends.tolist(), one.skipped, bool(one.hashes.low[0] == one.hashes.low[1])
    ([1, 0, 0, 1], [5, 7], {'empty': 1}, True)
    """
    if normalisation:
        keys = [key and normalise_text(key, normalisation) for key in keys]
    spans = np.fromiter(map(bool, keys), np.int64, len(keys))
    ends = np.fromiter(lengths, np.int64, len(keys))[spans > 0]
    empty = sum(key is not None for key in keys) - len(ends)
    return UnitHashes(
        0,
        spans,
        np.zeros_like(ends),
        ends,
        hashed(map(encoded_text, filter(None, keys))),
        None,
        {EMPTY: empty} if empty else {},
    )


def hash_document_bands(
    texts: Sequence[str], ngram: int, bands: int, rows: int, seed: int, normalisation: str
) -> Iterator[tuple[UnitHashes, Signatures]]:
    """Documents with words, each with the hashes of the bands of its signature; and the signatures of all documents.

    Args:
        texts: any texts.
        ngram: words of an n-gram.
        bands: number of bands of a signature.
        rows: values of a band.
        seed: seed of the permutations.
        normalisation: name of the normalisation of each text before its words are taken.

    Yields:
        For some texts their units, and their signatures (T, bands * rows). That of a text without words is 0
        throughout.

    >>> (one, values), = hash_document_bands(["to be or not to be", ""], 5, 14, 8, 1, "words-1")
    >>> one.spans.tolist(), one.counts.tolist(), values.shape
    ([1, 0], [14], (2, 112))
    """
    for group in text_groups(texts):
        places, some = minhash_signatures(group.texts, ngram, bands * rows, seed, normalisation)
        values = np.zeros((len(group.texts), bands * rows), np.uint32)
        values[places] = some
        spans = np.zeros(len(group.texts), np.int64)
        spans[places] = 1
        ends = np.fromiter(map(len, group.texts), np.int64, len(group.texts))[places]
        halves = band_hashes(some, bands).reshape(-1, 2)
        hashes = Hashes128(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))
        empty = len(group.texts) - len(places)
        skipped = {EMPTY: empty} if empty else {}
        counts = np.full(len(places), bands)
        yield UnitHashes(group.first, spans, np.zeros_like(ends), ends, hashes, counts, skipped), values
