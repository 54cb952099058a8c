"""What a trainer reads of a mix where a block has too few sequences for the declared shares."""

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.formats.levanter.mixture_weights import coarse_streams, sequences_by_stream
from gristmill.recipes.mixture.token_shares import Portion, Reading, Sequences, reading_from_weights, solve_reading


def read_in_blocks(
    declared: Reading,
    weights: Mapping[str, float],
    portions: Sequence[Portion],
    tokens: Mapping[str, int],
    sequences: Mapping[str, Sequences] | None,
    *,
    block: int,
    budget: int | None,
) -> Reading:
    """The reading by whole sequences, if its shares of tokens are off by more than half a percentage point.

    Args:
        declared: the reading by the declared shares.
        weights: the weight of each stream in the trainer's configuration, by its name.
        portions: declarations of the mix, one for each stream.
        tokens: number of tokens of each stream, as for solve_reading().
        sequences: sequences of each stream, as for solve_reading().
        block: size of a block in sequences.
        budget: number of tokens that training reads in total, as for solve_reading().

    Returns:
        `declared` if a block gives these shares.
    """
    fill = {name: each.tokens / each.count for name, each in (sequences or {}).items() if each.count}
    if not coarse_streams(weights, block, fill):
        return declared
    counts = sequences_by_stream(weights, block)
    drawn = [
        Portion(each.name, each.name, float(counts.get(each.name, 0)), 1.0, each.most_epochs if budget else each.most)
        for each in portions
    ]
    if declared.total is None:
        read = reading_from_weights(drawn, tokens)
    else:
        read = solve_reading(drawn, tokens, budget=budget, sequences=sequences, length=declared.sequence_length)
    streams = (msgspec.structs.replace(each, declared=weights.get(each.stream, 0.0)) for each in read.streams)
    return msgspec.structs.replace(read, streams=tuple(streams), block=block)
