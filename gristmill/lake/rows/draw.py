"""The draw of samples: a hash of (source, id) alone decides whether a document is in a sample."""

import orjson
import xxhash

from gristmill.lake.identity import Pair, canonical_bytes

VALIDATION_SEED = 0x76616C  # "val"; not a seed of the mixes' samples, so that the draws are independent
"""Seed of the draw that holds documents out for validation."""


def draw_fraction(pair: Pair, seed: int = 0) -> float:
    """A number in [0, 1) that depends only on the pair and the seed: XXH3-64 of the pair's canonical bytes / 2**64.

    A document is in a sample of the share s if its number is below s. So a smaller sample is part of a larger one.

    Args:
        pair: (source, id).
        seed: seed of the draw; another seed gives an independent draw.

    >>> round(draw_fraction(("wiki", "d1")), 4), round(draw_fraction(("wiki", "d1"), seed=1), 4)
    (0.024, 0.3252)
    """
    return xxhash.xxh3_64_intdigest(canonical_bytes(pair), seed) / 2**64


def key_fraction(key: str | float, seed: int = 0) -> float:
    """A number in [0, 1) that depends only on a key and the seed: XXH3-64 of the compact JSON array `[key]` / 2**64.

    Args:
        key: such as the host of a page.
        seed: seed of the draw.

    >>> round(key_fraction("example.org"), 4)
    0.9123
    """
    return xxhash.xxh3_64_intdigest(orjson.dumps([key]), seed) / 2**64
