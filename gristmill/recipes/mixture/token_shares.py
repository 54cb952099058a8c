"""How many tokens of each stream a training reads: the arithmetic of weights, proportions, temperature and repeats.

Everything here is computed from plain numbers. The only input from the lake is the number of tokens of each stream.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

WARNED_EPOCHS = 4.0
"""More epochs than this are warned of. Source: Muennighoff et al., 2023, arXiv:2305.16264: up to four epochs of
the same tokens train nearly as well as new ones."""

_DIGITS = 12
"""Significant digits of the power of a temperature; machines differ in the sixteenth."""
_TOLERANCE = 1e-9
"""Share of all tokens by which a stream may be short without a word."""


class Portion(msgspec.Struct, frozen=True):
    """What a mix declares for one stream.

    Attributes:
        name: of the stream.
        group: of the streams that share a proportion; by default it is the stream's own name.
        weight: relative share in training; it counts only without proportions, temperature and repeats.
        repeats: how often the stream is read, relative to the others of its group.
        most_epochs: how often training may read the stream at most; None: no bound with a budget, else `repeats`.
    """

    name: str
    group: str
    weight: float = 1.0
    repeats: float = 1.0
    most_epochs: float | None = None


class StreamReading(msgspec.Struct, frozen=True):
    """How training reads one stream.

    Attributes:
        stream: its name.
        tokens: tokens of its training split.
        share: its share of all tokens that training reads, from 0 to 1.
        read: tokens that training reads of it.
        rate: share of its tokens that training reads at least once, from 0 to 1.
        epochs: how often training reads the stream; 0.5 is half of it once.
        short: tokens that are lacking, because the stream may not be read more than `most_epochs` times.
    """

    stream: str
    tokens: int
    share: float
    read: int
    rate: float
    epochs: float
    short: int = 0


class Reading(msgspec.Struct, frozen=True):
    """How training reads a mix.

    Attributes:
        total: tokens that training reads: the budget or, without one, the most that repeats no stream too often.
        streams: each stream, in the order of the mix.
    """

    total: int
    streams: tuple[StreamReading, ...]

    @property
    def shares(self) -> dict[str, float]:
        """The share of each stream, by its name."""
        return {each.stream: each.share for each in self.streams}

    @property
    def shortages(self) -> list[str]:
        """One sentence for each stream that cannot give its tokens."""
        return [
            f"stream {each.stream!r} is short of {each.short:,} tokens: {each.read:,} of it are read, but it has"
            f" {each.tokens:,}, and most_epochs allows {each.read - each.short:,}"
            for each in self.streams
            if each.short
        ]

    @property
    def warnings(self) -> list[str]:
        """One sentence for each stream that is read more than four times."""
        return [
            f"stream {each.stream!r} is read {each.epochs:.3g} times; more than {WARNED_EPOCHS:g} times teaches little"
            for each in self.streams
            if each.epochs > WARNED_EPOCHS
        ]


def read_shares(
    portions: Sequence[Portion],
    tokens: Mapping[str, int],
    *,
    proportions: Mapping[str, float] | None = None,
    temperature: float | None = None,
    budget: int | None = None,
) -> Reading:
    """Solves what a mix declares into shares, rates and epochs.

    A stream that has no tokens yet is left out: the others share the whole.

    Args:
        portions: what the mix declares for each stream.
        tokens: of the training split of each stream, by name. A missing name counts as 0.
        proportions: share of each group, by its name; they need not add up to 1.
        temperature: each group gets a share that is proportional to its tokens raised to this power: 1 keeps the
            natural shares, 0 makes all groups equal.
        budget: tokens that training reads in total.

    Returns:
        What training reads of each stream, in the order of the portions.

    >>> web, code = Portion("web", "web"), Portion("code", "code")
    >>> solved = read_shares([web, code], {"web": 900, "code": 100}, proportions={"web": 7, "code": 3}, budget=500)
    >>> [(each.stream, each.share, each.read, each.rate, each.epochs) for each in solved.streams]
    [('web', 0.7, 350, 0.3888888888888889, 0.3888888888888889), ('code', 0.3, 150, 1.0, 1.5)]
    """
    wanted = _wanted([each for each in portions if tokens.get(each.name)], tokens, proportions, temperature)
    # Fractions are exact on all machines: with a budget of five times its tokens, a stream is read exactly 5 times.
    whole = sum(wanted.values()) or Fraction(1)
    shares = {name: share / whole for name, share in wanted.items()}
    # Without a budget, training reads as much as it can in these shares before one stream is repeated too often.
    bounds = [
        _exactly(each.repeats if each.most_epochs is None else each.most_epochs) * tokens[each.name] / shares[each.name]
        for each in portions
        if shares.get(each.name)
    ]
    total = budget if budget is not None else int(min(bounds, default=0))
    streams = (_stream(each, tokens.get(each.name, 0), shares.get(each.name, Fraction(0)), total) for each in portions)
    return Reading(total, tuple(streams))


def _wanted(
    portions: Sequence[Portion],
    tokens: Mapping[str, int],
    proportions: Mapping[str, float] | None,
    temperature: float | None,
) -> dict[str, Fraction]:
    """The share of each stream that has tokens, relative to those of the others."""
    if proportions is None and temperature is None and all(each.repeats == 1 for each in portions):
        return {each.name: _exactly(each.weight) for each in portions}
    # The volume of a stream is what it gives if it is read as often as it says. Inside a group, streams share by their
    # volumes, so that each is read in proportion to its repeats.
    volume = {each.name: _exactly(each.repeats) * tokens[each.name] for each in portions}
    by_group: dict[str, Fraction] = {}
    for each in portions:
        by_group[each.group] = by_group.get(each.group, Fraction(0)) + volume[each.name]
    if proportions is not None:
        of_group = {group: _exactly(proportions[group]) for group in by_group}
    elif temperature is None:
        of_group = by_group
    else:
        of_group = {group: Fraction(f"{float(whole) ** temperature:.{_DIGITS}g}") for group, whole in by_group.items()}
    return {each.name: of_group[each.group] * volume[each.name] / by_group[each.group] for each in portions}


def _exactly(number: float) -> Fraction:
    """The number that a person wrote: 0.9 is 9/10, not the binary number that is closest to it."""
    return Fraction(repr(number))


def _stream(portion: Portion, tokens: int, share: Fraction, total: int) -> StreamReading:
    """What training reads of one stream that has this share."""
    read = round(share * total)
    epochs = float(share * total / tokens) if tokens else 0.0
    most = math.inf if portion.most_epochs is None else portion.most_epochs * tokens
    rounding = max(0.5, _TOLERANCE * total)
    short = math.ceil(read - most) if tokens and read - most > rounding else 0
    return StreamReading(portion.name, tokens, float(share), read, min(1.0, epochs), epochs, short)
