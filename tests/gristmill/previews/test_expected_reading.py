"""How training would read a mix, as a preview shows it: what is not changed must be as the token cache counts it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostlake import mix_of as mix_of_hosts
from hostlake import start
from packedlake import indexes_of, make_caches, mix_of
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.lake.ledger.model import Shard
from gristmill.pipeline.expected_tokens import expected_tokens
from gristmill.previews.expected_reading import expected_reading
from gristmill.previews.mix_preview import StreamPreview, open_stream, preview_stream
from gristmill.previews.token_ratio import token_ratio
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.rules import Rule, field, score
from gristmill.stages.mixing.held_out import held_out_row_flags
from gristmill.stages.mixing.step import stream_step

MIX = mix_of("texts", "talks", sequence_length=8, token_budget=80, proportions={"texts": 0.5, "talks": 0.5}, block=26)
WEIGHED = mix_of("texts", "talks", sequence_length=8)
TEN = {"texts": [8] * 10, "talks": [5] * 10}


def flags_of(row: Shard) -> list[bool]:
    flags = held_out_row_flags(row)
    assert flags is not None
    return list(flags)


def previews_of(mill: Mill, mix: Mix) -> list[StreamPreview]:
    found = []
    for stream in mix.streams:
        step = stream_step(mix, stream.key, SNAPSHOT, SHELVES)
        opened = open_stream(mill.store, [step], {}, token_ratio(mill.store, mix, stream.key))
        found.append(preview_stream(mill.store, opened, 0))
    return found


def test_a_preview_of_what_is_made_shows_the_sequences_of_the_token_cache(mill: Mill) -> None:
    """Ten conversations of 5 tokens fill ten sequences of 8: half of the tokens are 8 of 13 sequences."""
    make_caches(mill, MIX, **TEN)
    indexes_of(mill, MIX).close(mill.store)
    title, reading = expected_reading(mill.store, MIX, previews_of(mill, MIX))
    assert title == "estimated from this preview, sequences as full as in token_caches/packed/bytes-1/index"
    assert reading.weights == {"texts": 5 / 13, "talks": 8 / 13}
    assert [(each.sequences, each.sequence_tokens) for each in reading.streams] == [(10, 80), (10, 50)]
    [counted] = expected_tokens(mill.store, read_catalogue(SHELVES), MIX)
    assert reading == counted.reading


def test_sequences_that_are_estimated_hold_no_more_tokens_than_those_of_the_cache(mill: Mill) -> None:
    """Texts of 15, 15, 15, 15, 15 and 5 tokens fill ten sequences of 8. Without the last, 68 tokens are estimated."""
    make_caches(mill, MIX, texts=[15] * 5 + [5], talks=[5] * 10)
    indexes_of(mill, MIX).close(mill.store)
    texts, talks = MIX.streams
    short = Rule("short", "text = 'aaaaa'", "for the test")
    fewer = replace(texts, columns=(*texts.columns, field("text")), exclude=(short,))
    _, reading = expected_reading(mill.store, MIX, previews_of(mill, replace(MIX, streams=(fewer, talks))))
    first, second = reading.streams
    assert first.tokens == 68
    assert (first.sequences, first.sequence_tokens) == (8, 64)
    assert (second.sequences, second.sequence_tokens) == (10, 50)
    assert not reading.warnings


def test_a_stream_without_sequences_is_not_shown_with_one(mill: Mill) -> None:
    """A text of 5 tokens, that is not packed, fills no sequence of 8."""
    make_caches(mill, MIX, texts=[5], talks=[5] * 10)
    indexes_of(mill, WEIGHED).close(mill.store)
    _, reading = expected_reading(mill.store, WEIGHED, previews_of(mill, WEIGHED))
    assert [(each.sequences, each.sequence_tokens) for each in reading.streams] == [(0, 0), (10, 50)]


def test_without_a_plan_the_shares_are_said_to_be_of_tokens_before_packing(mill: Mill) -> None:
    """Also if the index has no plan of this length, or none of a stream that the preview keeps rows of."""
    words = "estimated from this preview, of tokens before packing: all sequences are taken as full"
    make_caches(mill, MIX, **TEN)
    assert expected_reading(mill.store, MIX, previews_of(mill, MIX))[0] == words
    indexes_of(mill, MIX).close(mill.store)
    longer = mix_of("texts", "talks", sequence_length=16, token_budget=80)
    title, reading = expected_reading(mill.store, longer, previews_of(mill, longer))
    assert (title, reading.sequence_length) == (words, None)


def test_texts_that_are_not_packed_need_no_such_words(mill: Mill) -> None:
    mix = mix_of("texts", sequence_length=8, token_budget=80, validation=0.5)
    make_caches(mill, mix, texts=[8] * 10)
    title, _ = expected_reading(mill.store, mix, previews_of(mill, mix))
    assert title == "estimated from this preview without the share of 0.5 that is held out"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"columns": (field("text"),), "exclude": (Rule("one", "text = 'text 1'", "for the test"),)},
        {"origin": True},
        {"rate": 0.7, "validation_key": score("words-1__count", "words")},
    ],
    ids=["columns", "text", "changed rows", "score"],
)
def test_what_a_key_holds_out_is_counted_as_the_build_counts_it(tmp_path: Path, options: dict[str, Any]) -> None:
    mix = mix_of_hosts(**options)
    mill = start(tmp_path, mix)
    held = [
        len(line) + 1
        for name, row in mill.table(mill.stream()).items()
        for line, is_held in zip(mill.lines(mill.stream().shard(name)), flags_of(row), strict=True)
        if is_held
    ]
    [preview] = previews_of(mill, mix)
    tally = preview.tally
    assert 0 < len(held) != tally.kept.documents / 2  # the declared share would be another number
    assert (tally.held.documents, tally.held.bytes) == (len(held), sum(held))
    title, reading = expected_reading(mill.store, mix, [preview])
    assert mix.validation_key is not None
    assert title.endswith(f" without the documents that are held out by {mix.validation_key.path}")
    assert reading.streams[0].tokens == preview.ratio.estimate_tokens(tally.kept) - preview.ratio.estimate_tokens(
        tally.held
    )
