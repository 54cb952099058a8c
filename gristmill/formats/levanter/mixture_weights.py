"""What Levanter makes of a mix's weights: whole sequences a block; and how often each stream is read.

Levanter gives each stream the whole part of weight x block sequences of every block, and what is left over to the
largest. A positive weight below one sequence a block never appears; Levanter warns of it in its log.

Source: marin-levanter 0.2, `levanter.data.mixture`.
"""

from collections.abc import Mapping

import msgspec

from gristmill.errors import RecipeError

LARGEST_BLOCK = 2**16 - 1


class Share(msgspec.Struct, frozen=True):
    """A stream in training.

    Attributes:
        weight: of all, between 0 and 1.
        sequences: in a block.
        tokens: in its training split.
        epochs: how often it is read for the mix's budget of tokens; None without one, or without tokens.
    """

    weight: float
    sequences: int
    tokens: int
    epochs: float | None


def sequences_of(weights: Mapping[str, float], block: int) -> dict[str, int]:
    """Sequences of each stream in a block; they sum to the block."""
    total = sum(weights.values())
    counts = {name: int(weight / total * block) for name, weight in weights.items()}
    largest = max(counts, key=lambda name: counts[name])
    return counts | {largest: counts[largest] + block - sum(counts.values())}


def check_weights(name: str, weights: Mapping[str, float], block: int) -> None:
    """Whether a trainer will see every stream that has a weight.

    Raises:
        RecipeError: no weight is above 0, one is below, or one is too small to appear in a block; names the smallest
            block in which all appear.
    """
    if any(not 0 <= weight < float("inf") for weight in weights.values()) or not any(weights.values()):
        raise RecipeError(f"mix {name!r}: weights are 0 or more, and one of them above 0; they are {dict(weights)}")
    lost = [key for key, count in sequences_of(weights, block).items() if weights[key] > 0 and not count]
    if not lost:
        return
    least = min(weight for weight in weights.values() if weight > 0) / sum(weights.values())
    enough = next((b for b in _sizes(least) if all(sequences_of(weights, b)[k] for k in lost)), None)
    mend = f"give the mix block={enough}, or larger weights" if enough else "give them larger weights"
    raise RecipeError(
        f"mix {name!r}: of a block of {block} sequences the streams {', '.join(lost)} get none, so a trainer would"
        f" never see them; {mend} (a block has at most {LARGEST_BLOCK})"
    )


def _sizes(least: float) -> range:
    """Blocks that may be large enough, smallest first."""
    first = int(1 / least)
    return range(first, min(first + 3, LARGEST_BLOCK + 1))


def shares(weights: Mapping[str, float], tokens: Mapping[str, int], block: int, budget: int | None) -> dict[str, Share]:
    """What becomes of each stream.

    Args:
        weights: as the mix has them.
        tokens: in each stream's training split.
        block: sequences of a block.
        budget: tokens that the training reads in all; None: not known.
    """
    counts = sequences_of(weights, block)
    found: dict[str, Share] = {}
    for name, count in counts.items():
        own = tokens.get(name, 0)
        epochs = budget * count / block / own if budget is not None and own else None
        found[name] = Share(weights[name] / sum(weights.values()), count, own, epochs)
    return found
