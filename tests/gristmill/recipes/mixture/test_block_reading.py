"""What a trainer reads where a block is too small for the declared shares, counted by eye."""

from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.token_shares import Sequences

WEB, EDN = Stream(name="web", source="s", version="v0"), Stream(name="edn", source="s", version="v0")


def declared(block: int) -> Mix:
    return Mix(name="m", streams=(WEB, EDN), block=block, proportions={"web": 0.55, "edn": 0.45})


def test_the_numbers_are_of_the_shares_that_a_small_block_gives() -> None:
    """Of 8 sequences edn gets int(3.6) = 3, web the other 5: with 300 tokens of edn, 500 of web are read."""
    mix = declared(8)
    reading = mix.reading({"web": 1000, "edn": 300})
    assert [(each.stream, each.share, each.read, each.epochs) for each in reading.streams] == [
        ("web", 0.625, 500, 0.5),
        ("edn", 0.375, 300, 1.0),
    ]
    assert reading.total == 800
    assert mix.train_weights(reading) == {"web": 0.55, "edn": 0.45}
    whole = "a trainer reads whole sequences in each block of 8"
    because = f"{whole}; the smallest larger block that gives it is block=20"
    assert reading.warnings == [
        f"stream 'web' is read at a share of 0.625, and not at 0.55: {because}",
        f"stream 'edn' is read at a share of 0.375, and not at 0.45: {because}",
    ]
    assert declared(2048).reading({"web": 1000, "edn": 300}).block is None
    assert mix.reading({"web": 1000, "edn": 300}, in_blocks=False).shares == {"web": 0.55, "edn": 0.45}


def test_a_share_of_tokens_in_a_block_depends_on_how_full_sequences_are() -> None:
    """Half the tokens are 1 of 4 sequences of 3 and 3 of 4 of 1. Of 10 sequences 2 and 8 are read: 6 and 8 tokens."""
    halves = Mix(name="m", streams=(WEB, EDN), block=10, sequence_length=3, proportions={"web": 0.5, "edn": 0.5})
    reading = halves.reading({"web": 300, "edn": 100}, {"web": Sequences(100, 300), "edn": Sequences(100, 100)})
    assert reading.shares == {"web": 6 / 14, "edn": 8 / 14}
    assert [each.sequence_share for each in reading.streams] == [0.2, 0.8]
    assert halves.train_weights(reading) == {"web": 0.25, "edn": 0.75}
    assert [warning.rpartition(" ")[2] for warning in reading.warnings] == ["block=12"] * 2


def test_thirty_languages_are_read_within_half_a_point_or_told() -> None:
    """Each of 29 small ones has 2.9 sequences in 2048, and gets 2: the largest has 26 too many, 1.3 points."""
    weights = (2048 - 29 * 2.9, *[2.9] * 29)
    streams = tuple(Stream(name=f"s{n}", source="s", version="v0", weight=each) for n, each in enumerate(weights))
    reading = Mix(name="m", streams=streams).reading({f"s{n}": 1000 for n in range(30)})
    [told] = reading.warnings
    assert told.startswith("stream 's0' is read at a share of 0.9717, and not at 0.9589")


def test_the_sequences_in_a_block_follow_from_the_weights_that_the_trainer_gets() -> None:
    """0.3 / 1.5 * 10 is 1.9999999999999998 for a trainer, so 1 sequence; of the shares 0.2 and 0.4 it would be 2."""
    weights = {"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.6}
    streams = tuple(Stream(name=name, source="s", version="v0", weight=weight) for name, weight in weights.items())
    mix = Mix(name="m", streams=streams, block=10)
    reading = mix.reading({"a": 1000, "b": 1000, "c": 1000, "d": 7000})
    assert [(each.share, each.read, each.declared) for each in reading.streams] == [
        *[(0.1, 1000, 0.3)] * 3,
        (0.7, 7000, 0.6),
    ]
    assert mix.train_weights(reading) == weights
    assert "'d' is read at a share of 0.7, and not at 0.4: " in reading.warnings[3]


def test_a_stream_without_tokens_has_no_weight() -> None:
    """A trainer would stop at it."""
    mix = Mix(name="m", streams=(WEB, EDN))
    reading = mix.reading({"web": 1000})
    assert (mix.train_weights(reading), reading.shares) == ({"web": 1.0, "edn": 0.0}, {"web": 1.0, "edn": 0.0})
    assert mix.train_weights(mix.reading({})) == {"web": 1.0, "edn": 1.0}
