"""How Levanter applies a mix's weights: whole sequences in every block.

In every block Levanter gives each stream int(weight * block size) sequences. The stream with most sequences gets the
rest. A stream whose weight is worth less than one sequence per block never appears; Levanter only logs a warning.

Source: marin-levanter 0.2, `levanter.data.mixture`.
"""

from collections.abc import Mapping

from gristmill.errors import RecipeError

LARGEST_BLOCK = 2**16 - 1
"""Sequences that a block of Levanter's may have."""


def sequences_of(weights: Mapping[str, float], block: int) -> dict[str, int]:
    """The number of sequences of each stream in a block; their sum is the block size.

    Args:
        weights: of each stream; 0 or more, one of them above 0.
        block: size of a block in sequences.

    >>> sequences_of({"web": 7, "code": 2, "math": 1}, 16)  # 11.2, 3.2 and 1.6, rounded down; web gets the rest
    {'web': 12, 'code': 3, 'math': 1}
    """
    total = sum(weights.values())
    counts = {name: int(weight / total * block) for name, weight in weights.items()}
    largest = max(counts, key=lambda name: counts[name])
    return counts | {largest: counts[largest] + block - sum(counts.values())}


def check_weights(name: str, weights: Mapping[str, float], block: int) -> None:
    """Checks that a trainer will see every stream that has a weight.

    Args:
        name: of the mix, for the message.
        weights: of each stream.
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
    lost = [key for key, count in sequences_of(weights, block).items() if weights[key] > 0 and not count]
    if not lost:
        return
    least = min(weight for weight in weights.values() if weight > 0) / sum(weights.values())
    enough = next((b for b in _sizes(least) if all(sequences_of(weights, b)[k] for k in lost)), None)
    mend = f"give the mix block={enough}, or larger weights" if enough else "give them larger weights"
    raise RecipeError(
        f"mix {name!r}: in a block of {block} sequences these streams get none: {', '.join(lost)}. A trainer would"
        f" never see them; {mend} (a block has at most {LARGEST_BLOCK})"
    )


def _sizes(least: float) -> range:
    """Block sizes that may be large enough for a stream with this fraction of the mix, smallest first."""
    first = int(1 / least)
    return range(first, min(first + 3, LARGEST_BLOCK + 1))
