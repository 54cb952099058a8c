"""What a mix declares for training, and how training reads its streams: a part of the data card of a release."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.token_shares import Reading, Sequences


class TrainingCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a mix declares for training, and what follows from it.

    Attributes:
        reading: reading of the streams in training, as the index of the token cache has it.
        weights: weights of each stream; empty if shares are of tokens.
        proportions: share of the tokens of each stream or group.
        temperature: the power of the tokens that shares follow from.
        repeats: number of readings of each stream that is not read once.
        token_budget: tokens that training reads.
        sequence_length: tokens of one sequence.
    """

    reading: Reading
    weights: dict[str, float] = {}
    proportions: dict[str, float] = {}
    temperature: float | None = None
    repeats: dict[str, float] = {}
    token_budget: int | None = None
    sequence_length: int | None = None

    @property
    def declared(self) -> str:
        """The declaration of the mix in words."""
        return "; ".join(self._declaration_words())

    def _declaration_words(self) -> Iterator[str]:
        named = {"weights": self.weights, "proportions": self.proportions, "repeats": self.repeats}
        for what, numbers in named.items():
            if numbers:
                yield f"{what} {', '.join(f'{name} {number:g}' for name, number in numbers.items())}"
        if self.temperature is not None:
            yield f"temperature {self.temperature:g}"
        if self.token_budget is not None:
            yield f"token budget {self.token_budget:,}"
        if self.sequence_length is not None:
            yield f"sequence length {self.sequence_length:,}"


def training_card(mix: Mix, reading: Reading) -> TrainingCard | None:
    """What the card of a release says of training.

    Args:
        mix: the mix, as it is on the shelf.
        reading: reading of the release in training, as the index of the token cache has it.

    Returns:
        That part of the card; None if the weights in the trainer's configuration say all: nothing is solved from
        tokens, no documents are packed, and a block gives these weights.

    Raises:
        RecipeError: the index was made from other declarations.
    """
    if not (mix.solves_token_shares or mix.sequence_length or mix.packed_streams or reading.block):
        return None
    if _solve_reading_again(mix, reading) != reading:
        raise RecipeError(
            f"mix {mix.name!r}: the index of its token cache was made from other weights, proportions, repeats,"
            " budget or sequence length than the recipe on the shelf declares; make the mix again, then the release"
        )
    return TrainingCard(
        reading,
        weights={} if mix.by_tokens else mix.weights,
        proportions=dict(mix.proportions or {}),
        temperature=mix.temperature,
        repeats={stream.key: stream.repeats for stream in mix.streams if stream.repeats != 1},
        token_budget=mix.token_budget,
        sequence_length=mix.sequence_length,
    )


def _solve_reading_again(mix: Mix, reading: Reading) -> Reading:
    """What the mix declares now, solved from the tokens and sequences of a reading."""
    tokens = {each.stream: each.tokens for each in reading.streams}
    counted = {each.stream: Sequences(each.sequences or 0, each.sequence_tokens or 0) for each in reading.streams}
    return mix.reading(tokens, None if reading.sequence_length is None else counted)
