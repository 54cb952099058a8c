"""How many tokens of each stream a training reads: the arithmetic of weights, proportions, temperature and repeats.

A trainer draws whole sequences. A sequence of packed documents has padding, and documents that are too long are cut. So
a share of the tokens is another share of the sequences, unless all sequences are full.

Everything here is computed from plain numbers. The only inputs from the lake are the tokens and the sequences of each
stream.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from gristmill.formats.levanter.mixture_weights import coarse_streams, fine_block

WARNED_EPOCHS = 4.0
"""More epochs than this are warned of. Source: Muennighoff et al., 2023, arXiv:2305.16264: up to four epochs of
the same tokens train nearly as well as new ones."""

MIXTURE = "mixture.json"
"""The file of a token cache's index that says how training reads each stream: tokens, share, rate and epochs. It has
the tokens by licence and by language too, if the sources declare any."""

BEFORE_PACKING = "of tokens before packing: all sequences are taken as full"
"""What is said of a reading of packed streams that no packing plan has counted."""

_DIGITS = 12
"""Significant digits of the power of a temperature; machines differ in the sixteenth."""
_TOLERANCE = 1e-9
"""Share of all tokens by which a stream may be short without a word."""


class Portion(msgspec.Struct, frozen=True):
    """What a mix declares for one stream.

    Attributes:
        name: name of the stream.
        group: name of the group of the streams that share a proportion; by default it is the stream's own name.
        weight: relative share in training; it counts only without proportions, temperature and repeats.
        repeats: number of times that the stream is read, relative to the others of its group.
        most_epochs: largest number of times that training may read the stream; None: no bound with a budget, else
            `repeats`.
    """

    name: str
    group: str
    weight: float = 1.0
    repeats: float = 1.0
    most_epochs: float | None = None

    @property
    def most(self) -> float:
        """The largest number of times that training reads the stream, if the mix has no budget."""
        return self.repeats if self.most_epochs is None else self.most_epochs


@dataclass(frozen=True)
class Sequences:
    """What the training split of one stream gives at one sequence length.

    Attributes:
        count: number of sequences.
        tokens: tokens in them, without padding and without what is cut off or dropped.
    """

    count: int
    tokens: int


class StreamReading(msgspec.Struct, frozen=True, omit_defaults=True):
    """How training reads one stream. Numbers that nobody can know without a sequence length are None.

    Attributes:
        stream: its name.
        tokens: tokens of its training split.
        share: its share of all tokens that training reads, from 0 to 1.
        read: tokens that training reads of it.
        rate: share of its tokens that training reads at least once, from 0 to 1. With a sequence length, it is of the
            tokens in its sequences: what is cut off or dropped does not count.
        epochs: number of times that training reads the stream; 0.5 is half of it once.
        short: tokens that are lacking, because the stream may not be read more than `most_epochs` times.
        sequences: number of sequences of its training split, at the length of the mix.
        sequence_tokens: tokens in them. Rate and epochs are of these tokens.
        sequence_share: its share of all sequences that training reads, where this may differ from `share`.
        read_sequences: number of sequences that training reads of it.
        declared: its weight in the trainer's configuration, where a block of sequences gives it another share: all
            other numbers are of what is read.
    """

    stream: str
    tokens: int
    share: float | None
    read: int | None
    rate: float | None
    epochs: float | None
    short: int
    sequences: int | None = None
    sequence_tokens: int | None = None
    sequence_share: float | None = None
    read_sequences: int | None = None
    declared: float | None = None

    @property
    def usable_tokens(self) -> int:
        """The tokens that training can read."""
        return self.tokens if self.sequence_tokens is None else self.sequence_tokens

    @property
    def drawn(self) -> float:
        """Its share of all sequences that training reads."""
        return (self.share or 0.0) if self.sequence_share is None else self.sequence_share

    @property
    def weight(self) -> float:
        """Its weight among those of all streams, as the mix declares it."""
        return self.drawn if self.declared is None else self.declared


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """How training reads a mix.

    Attributes:
        total: tokens that training reads: the budget or, without one, the most that repeats no stream too often. None
            if nobody can know it without a sequence length.
        streams: each stream, in the order of the mix.
        sequence_length: tokens of one sequence, if the mix declares it.
        total_sequences: number of sequences that training reads, if the mix declares their length.
        block: size of a block in sequences, if it is too small for the declared shares.
    """

    total: int | None
    streams: tuple[StreamReading, ...]
    sequence_length: int | None = None
    total_sequences: int | None = None
    block: int | None = None

    @property
    def shares(self) -> dict[str, float]:
        """The share of each stream in the tokens, by its name; 0 if it is not known."""
        return {each.stream: each.share or 0.0 for each in self.streams}

    @property
    def weights(self) -> dict[str, float]:
        """The declared weight of each stream, by its name."""
        return {each.stream: each.weight for each in self.streams}

    @property
    def shortage_sentences(self) -> list[str]:
        """One sentence for each stream that cannot give its tokens."""
        return [
            f"stream {each.stream!r} is short of {each.short:,} tokens: {each.read:,} of it are read, but"
            f" {'it has' if each.sequences is None else 'its sequences have'} {each.usable_tokens:,}, and"
            f" most_epochs allows {each.read - each.short:,}"
            for each in self.streams
            if each.short and each.read is not None
        ]

    @property
    def warnings(self) -> list[str]:
        """One sentence for each stream that is read more than four times, never, or at another share than declared."""
        often = [
            f"stream {each.stream!r} is read {each.epochs:.3g} times; more than {WARNED_EPOCHS:g} times teaches little"
            for each in self.streams
            if each.epochs and each.epochs > WARNED_EPOCHS
        ]
        never = [
            f"stream {each.stream!r} has {each.tokens:,} tokens, but gives no sequence of {self.sequence_length:,}:"
            " training does not read it"
            if each.tokens
            else f"stream {each.stream!r} has no tokens: training does not read it"
            for each in self.streams
            if each.sequences == 0 or not each.tokens
        ]
        return often + never + self._coarse_block_sentences

    @property
    def _coarse_block_sentences(self) -> list[str]:
        """One sentence for each stream that a block of sequences cannot give its share."""
        if self.block is None:
            return []
        weights = {each.stream: each.weight for each in self.streams}
        fill = {each.stream: each.usable_tokens / each.sequences for each in self.streams if each.sequences}
        enough = fine_block(weights, self.block, fill)
        mend = f"the smallest larger block that gives it is block={enough}" if enough else "no larger block gives it"
        return [
            f"stream {name!r} is read at a share of {read:.4g}, and not at {declared:.4g}: a trainer reads whole"
            f" sequences in each block of {self.block}; {mend}"
            for name, (read, declared) in coarse_streams(weights, self.block, fill).items()
        ]


def solve_reading(
    portions: Sequence[Portion],
    tokens: Mapping[str, int],
    *,
    proportions: Mapping[str, float] | None = None,
    temperature: float | None = None,
    budget: int | None = None,
    sequences: Mapping[str, Sequences] | None = None,
    length: int | None = None,
) -> Reading:
    """Solves what a mix declares into shares, rates and epochs.

    A stream that has no tokens yet, or no sequence, is left out: the others share the whole.

    Args:
        portions: declarations of the mix, one for each stream.
        tokens: number of tokens of the training split of each stream, by name. A missing name counts as 0.
        proportions: share of each group, by its name; they need not add up to 1.
        temperature: each group gets a share that is proportional to its tokens raised to this power: 1 keeps the
            natural shares, 0 makes all groups equal.
        budget: tokens that training reads in total.
        sequences: sequences of the training split of each stream, by name; None: all are full, and nothing is cut.
        length: tokens of one sequence, for the record.

    Returns:
        What training reads of each stream, in the order of the portions.

    >>> web, code = Portion("web", "web"), Portion("code", "code")
    >>> solved = solve_reading([web, code], {"web": 900, "code": 100}, proportions={"web": 7, "code": 3}, budget=500)
    >>> [(each.stream, each.share, each.read, each.rate, each.epochs) for each in solved.streams]
    [('web', 0.7, 350, 0.3888888888888889, 0.3888888888888889), ('code', 0.3, 150, 1.0, 1.5)]
    """
    usable = dict(tokens) if sequences is None else {name: each.tokens for name, each in sequences.items()}
    fill = {name: Fraction(each.tokens, each.count or 1) for name, each in (sequences or {}).items()}
    present = [each for each in portions if usable.get(each.name)]
    repeated = any(each.repeats != 1 for each in portions)  # also if that one has no tokens yet
    wanted = {each.name: _to_fraction(each.weight) * fill.get(each.name, 1) for each in present}  # of sequences
    if repeated or proportions is not None or temperature is not None:
        wanted = _wanted_token_shares(present, usable, proportions, temperature)
    shares = _adding_to_one(wanted)
    # Without a budget, one stream bounds the others. It is read exactly so often: whole tokens would leave a part out.
    bounds = [_to_fraction(each.most) * usable[each.name] / shares[each.name] for each in present if shares[each.name]]
    exact = Fraction(budget) if budget is not None else min(bounds, default=Fraction(0))
    streams = [
        _read_one(each, tokens.get(each.name, 0), usable.get(each.name, 0), shares.get(each.name, Fraction(0)), exact)
        for each in portions
    ]
    reading = Reading(int(exact), tuple(streams), None if sequences is None else length)
    return reading if sequences is None else _count_reading_sequences(reading, shares, fill, sequences)


def reading_from_weights(portions: Sequence[Portion], tokens: Mapping[str, int]) -> Reading:
    """The shares of sequences that weights alone give, without tokens: nobody knows how full the sequences are.

    Args:
        portions: declarations of the mix, one for each stream.
        tokens: number of tokens of each stream, as for solve_reading().

    >>> portions = [Portion("a", "a", 3.0), Portion("b", "b")]
    >>> [each.weight for each in reading_from_weights(portions, {"a": 9, "b": 9}).streams]
    [0.75, 0.25]
    """
    solved = solve_reading(portions, tokens)
    streams = (
        StreamReading(each.stream, each.tokens, None, None, None, None, 0, sequence_share=each.share)
        for each in solved.streams
    )
    return Reading(None, tuple(streams))


def _adding_to_one(wanted: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Shares. Fractions are exact on all machines: with a budget of five times its tokens, a stream is read 5 times."""
    whole = sum(wanted.values()) or Fraction(1)
    return {name: share / whole for name, share in wanted.items()}


def _wanted_token_shares(
    portions: Sequence[Portion],
    tokens: Mapping[str, int],
    proportions: Mapping[str, float] | None,
    temperature: float | None,
) -> dict[str, Fraction]:
    """The share of each stream in the tokens, relative to those of the others."""
    # The volume of a stream is what it gives if it is read as often as it says. Inside a group, streams share by their
    # volumes, so that each is read in proportion to its repeats.
    volume = {each.name: _to_fraction(each.repeats) * tokens[each.name] for each in portions}
    by_group: dict[str, Fraction] = {}
    for each in portions:
        by_group[each.group] = by_group.get(each.group, Fraction(0)) + volume[each.name]
    if proportions is not None:
        of_group = {group: _to_fraction(proportions[group]) for group in by_group}
    elif temperature is None:
        of_group = by_group
    else:
        of_group = {group: Fraction(f"{float(whole) ** temperature:.{_DIGITS}g}") for group, whole in by_group.items()}
    return {each.name: of_group[each.group] * volume[each.name] / by_group[each.group] for each in portions}


def _count_reading_sequences(
    reading: Reading, shares: Mapping[str, Fraction], fill: Mapping[str, Fraction], sequences: Mapping[str, Sequences]
) -> Reading:
    """The same reading, counted in sequences too. `shares` are of tokens, `fill` the mean tokens of a sequence."""
    drawn = {name: share / fill[name] for name, share in shares.items()}
    every = sum(drawn.values()) or Fraction(1)
    streams: list[StreamReading] = []
    for each in reading.streams:
        there, part = sequences.get(each.stream, Sequences(0, 0)), drawn.get(each.stream, Fraction(0))
        streams.append(
            msgspec.structs.replace(
                each,
                sequences=there.count,
                sequence_tokens=there.tokens,
                sequence_share=float(part / every),
                read_sequences=round(part * (reading.total or 0)),
            )
        )
    total = sum(each.read_sequences or 0 for each in streams)
    return msgspec.structs.replace(reading, streams=tuple(streams), total_sequences=total)


def _to_fraction(number: float) -> Fraction:
    """The number that a person wrote: 0.9 is 9/10, not the binary number that is closest to it."""
    return Fraction(repr(number))


def _read_one(portion: Portion, tokens: int, usable: int, share: Fraction, total: Fraction) -> StreamReading:
    """What training reads of one stream that has this share."""
    read = round(share * int(total))
    epochs = float(share * total / usable) if usable else 0.0
    most = math.inf if portion.most_epochs is None else portion.most_epochs * usable
    rounding = max(0.5, _TOLERANCE * total)
    short = math.ceil(read - most) if usable and read - most > rounding else 0
    return StreamReading(portion.name, tokens, float(share), read, min(1.0, epochs), epochs, short)
