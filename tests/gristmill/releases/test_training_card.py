import json
from dataclasses import replace

import msgspec
import pytest
from packedlake import indexes_of, make_caches, mix_of
from testkit import SHELVES, Mill

from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.releases.card import DataCard, data_card
from gristmill.releases.card_text import card_text
from gristmill.releases.croissant import croissant_metadata
from gristmill.releases.pinned import PinnedRelease
from gristmill.releases.pinning import pinned_release, train_weights, trainer_files, trainer_reading


def packed_card(mill: Mill, release: PinnedRelease, mix: Mix) -> DataCard:
    known = read_catalogue(SHELVES)
    weights = train_weights(trainer_files(mill.store, release), release)
    shelf = replace(known, mixes={**known.mixes, "packed": mix})
    return data_card(release, shelf, weights, trainer_reading(mill.store, release))


@pytest.mark.slow
def test_a_card_has_what_the_mix_declares_and_what_training_reads_of_packed_sequences(mill: Mill) -> None:
    """Half of the tokens each, in sequences of 8 and of 5 tokens: 40 tokens are 5 and 8 sequences."""
    halves = {"texts": 0.5, "talks": 0.5}
    mix = mix_of("texts", "talks", sequence_length=8, proportions=halves, token_budget=80, block=26, draft=False)
    make_caches(mill, mix, texts=[8] * 10, talks=[5] * 10)
    indexes_of(mill, mix).close(mill.store)
    release = pinned_release(mill.store, "first", "packed", "bytes-1")
    card = packed_card(mill, release, mix)
    assert {each.stream: each.weight for each in card.streams} == {"texts": 5 / 13, "talks": 8 / 13}
    training = json.loads(msgspec.json.encode(card))["training"]
    assert (training["proportions"], training["token_budget"], training["sequence_length"]) == (halves, 80, 8)
    declared = "proportions texts 0.5, talks 0.5; token budget 80; sequence length 8"
    text = card_text(card)
    assert f"The mix declares: {declared}.\nTraining reads 80 tokens in 13 sequences.\n" in text
    assert "| texts | 50.0% | 38.5% | 40 | 0.5 |\n| talks | 50.0% | 61.5% | 40 | 0.8 |\n" in text
    assert "The shares of other tables are of all tokens of the token cache, before they are packed" in text
    assert croissant_metadata(card, {})["description"].endswith(f" For training it declares: {declared}.")
    for changed in ({"token_budget": 70}, {"sequence_length": 16}, {"proportions": {"texts": 0.25, "talks": 0.75}}):
        with pytest.raises(RecipeError, match="the index of its token cache was made from other weights, proportions"):
            packed_card(mill, release, replace(mix, **changed))


def test_a_card_of_weights_over_packed_sequences_of_no_length_says_so(mill: Mill) -> None:
    mix = mix_of("texts", "talks", texts_weight=3.0, draft=False)
    make_caches(mill, mix, texts=[8] * 10, talks=[5] * 10)
    indexes_of(mill, mix).close(mill.store)
    text = card_text(packed_card(mill, pinned_release(mill.store, "first", "packed", "bytes-1"), mix))
    assert "The mix declares: weights texts 3, talks 1.\nHow many tokens training reads is not known" in text
    assert "| texts | - | 75.0% | - | - |\n| talks | - | 25.0% | - | - |\n" in text


def test_a_card_has_the_share_of_the_sequences_that_a_coarse_block_gives(mill: Mill) -> None:
    """5/13 and 8/13 of 8 sequences are 3 and 4, and the largest stream gets the rest: 3 x 8 and 5 x 5 tokens."""
    halves = {"texts": 0.5, "talks": 0.5}
    mix = mix_of("texts", "talks", sequence_length=8, proportions=halves, token_budget=98, block=8, draft=False)
    make_caches(mill, mix, texts=[8] * 10, talks=[5] * 10)
    indexes_of(mill, mix).close(mill.store)
    text = card_text(packed_card(mill, pinned_release(mill.store, "first", "packed", "bytes-1"), mix))
    assert "| texts | 49.0% | 37.5% | 48 | 0.6 |\n| talks | 51.0% | 62.5% | 50 | 1 |\n" in text


@pytest.mark.parametrize("block", [8, 20])
def test_a_card_of_weights_alone_has_what_is_read_if_a_block_is_too_coarse_for_them(mill: Mill, block: int) -> None:
    """0.55 and 0.45 of 8 sequences are 5 and 3; of 20 they are exact, and the weights say all."""
    mix = mix_of("texts", "built", texts_weight=0.55, built_weight=0.45, block=block, draft=False)
    make_caches(mill, mix, texts=[8] * 10, built=[8] * 10)
    indexes_of(mill, mix).close(mill.store)
    card = packed_card(mill, pinned_release(mill.store, "first", "packed", "bytes-1"), mix)
    assert {each.stream: each.weight for each in card.streams} == {"texts": 0.55, "built": 0.45}
    text, told = card_text(card), block == 8
    assert ("| texts | 62.5% | 62.5% | 80 | 1 |\n| built | 37.5% | 37.5% | 48 | 0.6 |\n" in text) == told
    assert ("The mix declares: weights texts 0.55, built 0.45.\nTraining reads 128 tokens.\n" in text) == told
    assert bool(card.training) == told
