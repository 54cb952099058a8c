"""The draw of samples: which documents are in a share, by a hash of (source, id) alone."""

import xxhash

from gristmill.lake.identity import Pair, canonical


def fraction(pair: Pair, seed: int = 0) -> float:
    """A number in [0, 1) that depends on the pair alone: XXH3-64 of its canonical bytes, over 2**64."""
    return xxhash.xxh3_64_intdigest(canonical(pair), seed) / 2**64
