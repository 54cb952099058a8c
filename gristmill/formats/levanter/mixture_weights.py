"""How Levanter applies a mix's weights: whole sequences in every block.

In every block Levanter gives each stream int(weight * block size) sequences. The stream with most sequences gets the
rest. A stream whose weight is worth less than one sequence per block never appears; Levanter only logs a warning.

Source: marin-levanter 0.2, `levanter.data.mixture`.
"""

import math
from collections.abc import Mapping

from gristmill.errors import RecipeError

LARGEST_BLOCK = 2**16 - 1
"""Sequences that a block of Levanter's may have."""


def sequences_by_stream(weights: Mapping[str, float], block: int) -> dict[str, int]:
    """The number of sequences of each stream in a block; their sum is the block size.

    Rounding down makes 1 of 1.9999999999999998. So the weights must be those of the trainer's configuration: others
    with the same shares may give other numbers.

    Args:
        weights: the weight of each stream, by its name: 0 or more, one of them above 0.
        block: size of a block in sequences.

    >>> sequences_by_stream({"web": 7, "code": 2, "math": 1}, 16)  # 11.2, 3.2 and 1.6, rounded down; web gets the rest
    {'web': 12, 'code': 3, 'math': 1}
    """
    total = _sum_like_levanter(weights)
    counts = {name: int(weight / total * block) for name, weight in weights.items()}
    largest = max(counts, key=lambda name: counts[name])
    return counts | {largest: counts[largest] + block - sum(counts.values())}


def _sum_like_levanter(weights: Mapping[str, float]) -> float:
    """The sum, as Levanter gets it: it needs Python 3.12, where `sum` makes no error by rounding in between."""
    return math.fsum(weights.values())


_AT_ONCE = 4096
"""Sizes of blocks that are tried together."""

COARSE = 0.005
"""A share of the tokens that differs from the declared one by more than this is told."""


def coarse_streams(
    weights: Mapping[str, float], block: int, fill: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """The streams whose share of the tokens in a block is off by more than half a percentage point.

    Args:
        weights: the weight of each stream, by its name: 0 or more, one of them above 0.
        block: size of a block in sequences.
        fill: mean tokens of a sequence of each stream; only their ratios count, and a missing stream has 1.

    Returns:
        The share that is read of each, and the declared one.

    >>> coarse_streams({"web": 0.55, "code": 0.45}, 8, {})
    {'web': (0.625, 0.55), 'code': (0.375, 0.45)}
    >>> coarse_streams({"web": 0.55, "code": 0.45}, 20, {})
    {}
    """
    read, declared = (_token_shares(each, fill) for each in (sequences_by_stream(weights, block), weights))
    return {name: (read[name], declared[name]) for name in weights if abs(read[name] - declared[name]) > COARSE}


def fine_block(weights: Mapping[str, float], block: int, fill: Mapping[str, float]) -> int | None:
    """The smallest larger block in which all shares are right within half a percentage point; None: no larger one is.

    A smaller one is not looked for: a stream of a small weight might have no sequence in it.

    Args: as of coarse_streams().

    >>> fine_block({"web": 0.55, "code": 0.45}, 8, {})
    20
    """
    import numpy as np  # noqa: PLC0415 - most commands need none

    each = np.array(list(weights.values())) / _sum_like_levanter(weights)
    tokens = np.array([fill.get(name, 1.0) for name in weights])
    declared = each * tokens / (each * tokens).sum()
    for first in range(block + 1, LARGEST_BLOCK + 1, _AT_ONCE):  # as sequences_by_stream(), for many sizes at once
        sizes = np.arange(first, min(first + _AT_ONCE, LARGEST_BLOCK + 1))
        counts = np.floor(each * sizes[:, None])
        counts[np.arange(len(sizes)), counts.argmax(axis=1)] += sizes - counts.sum(axis=1)
        read = counts * tokens
        fine = (abs(read / read.sum(axis=1, keepdims=True) - declared) <= COARSE).all(axis=1)
        if fine.any():
            return int(sizes[fine.argmax()])
    return None


def _token_shares(weights: Mapping[str, float], fill: Mapping[str, float]) -> dict[str, float]:
    """The share of the tokens that weights of sequences give each stream."""
    tokens = {name: weight * fill.get(name, 1.0) for name, weight in weights.items()}
    return {name: each / sum(tokens.values()) for name, each in tokens.items()}


def check_weights(name: str, weights: Mapping[str, float], block: int) -> None:
    """Checks that a trainer will see every stream that has a weight.

    Args:
        name: name of the mix, for the message.
        weights: weight of each stream, by name.
        block: size of a block in sequences.

    Raises:
        RecipeError: no weight is above 0, a weight is below 0, or a weight is too small to appear in a block. The
            message names the smallest block in which all streams appear.

    >>> check_weights("demo", {"web": 99, "math": 1}, 64)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    gristmill.errors.RecipeError: mix 'demo': ... get none: math. ... give the mix block=100, or larger weights ...
    """
    if any(not 0 <= weight < float("inf") for weight in weights.values()) or not any(weights.values()):
        raise RecipeError(f"mix {name!r}: give weights of 0 or more, one of them above 0; they are {dict(weights)}")
    lost = [key for key, count in sequences_by_stream(weights, block).items() if weights[key] > 0 and not count]
    if not lost:
        return
    least = min(weight for weight in weights.values() if weight > 0) / _sum_like_levanter(weights)
    enough = next(
        (b for b in _candidate_block_sizes(least) if all(sequences_by_stream(weights, b)[k] for k in lost)), None
    )
    mend = f"give the mix block={enough}, or larger weights" if enough else "give them larger weights"
    raise RecipeError(
        f"mix {name!r}: in a block of {block} sequences these streams get none: {', '.join(lost)}. A trainer would"
        f" never see them; {mend} (a block has at most {LARGEST_BLOCK})"
    )


def _candidate_block_sizes(least: float) -> range:
    """Block sizes that may be large enough for a stream with this fraction of the mix, smallest first."""
    first = int(1 / least)
    return range(first, min(first + 3, LARGEST_BLOCK + 1))
