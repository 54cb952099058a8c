"""Weights of packed streams, in sequences of 8 tokens.

Ten conversations of 5 tokens give ten sequences, because two do not fit. Ten texts of 8 tokens give ten full ones.
"""

import json
from typing import Any

import pytest
from packedlake import INDEX, TEMPLATE, indexes_of, make_caches, mix_of
from testkit import SHELVES, Mill

from gristmill.errors import DataError, RecipeError
from gristmill.pipeline.expected_tokens import expected_tokens
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Chat, Prebuilt, Slice, Text

HALVES = {"proportions": {"texts": 0.5, "talks": 0.5}, "block": 26}
TEN = {"texts": [8] * 10, "talks": [5] * 10}


def mixture(mill: Mill) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(mill.store.read(f"{INDEX}/mixture.json"))
    return found


def weights(mill: Mill) -> dict[str, float]:
    found: dict[str, float] = json.loads(mill.store.read(f"{INDEX}/data.yaml"))["train_weights"]
    return found


def made(mill: Mill, mix: Mix, **lengths: list[int]) -> dict[str, Any]:
    make_caches(mill, mix, **lengths)
    indexes_of(mill, mix).close(mill.store)
    return mixture(mill)


@pytest.mark.slow
def test_proportions_of_tokens_are_other_shares_of_sequences(mill: Mill) -> None:
    """Of 80 tokens each stream gives 40: 5 sequences of 8 and 8 sequences of 5."""
    found = made(mill, mix_of("texts", "talks", sequence_length=8, token_budget=80, **HALVES), **TEN)
    assert weights(mill) == {"texts": 5 / 13, "talks": 8 / 13}
    assert (found["total"], found["sequence_length"], found["total_sequences"]) == (80, 8, 13)
    texts, talks = found["streams"]
    assert (texts["sequences"], texts["sequence_tokens"], texts["read_sequences"]) == (10, 80, 5)
    assert (talks["sequences"], talks["sequence_tokens"], talks["read_sequences"]) == (10, 50, 8)
    assert [(each["tokens"], each["share"], each["read"], each["epochs"]) for each in found["streams"]] == [
        (80, 0.5, 40, 0.5),
        (50, 0.5, 40, 0.8),
    ]


def test_what_is_cut_off_is_not_read(mill: Mill) -> None:
    """Conversations of 20 tokens give 8 each: a pass over them reads 80 tokens, not 200."""
    mix = mix_of("texts", "talks", sequence_length=8, token_budget=160, **HALVES)
    _, talks = made(mill, mix, texts=[8] * 10, talks=[20] * 10)["streams"]
    assert (talks["tokens"], talks["sequence_tokens"], talks["epochs"]) == (200, 80, 1.0)
    assert weights(mill) == {"texts": 0.5, "talks": 0.5}


def test_weights_are_shares_of_sequences_and_the_shares_of_tokens_follow(mill: Mill) -> None:
    """Without a budget, training reads until the first stream is used up: ten sequences of each."""
    found = made(mill, mix_of("texts", "talks", sequence_length=8), **TEN)
    assert weights(mill) == {"texts": 1.0, "talks": 1.0}
    assert [each["share"] for each in found["streams"]] == [8 / 13, 5 / 13]
    assert (found["total"], found["total_sequences"]) == (130, 20)


def test_without_a_length_nothing_is_said_of_tokens_that_nobody_can_know(mill: Mill) -> None:
    found = made(mill, mix_of("texts", "talks", texts_weight=3.0), **TEN)
    assert weights(mill) == {"texts": 3.0, "talks": 1.0}
    assert found["total"] is None
    assert [(each["share"], each["epochs"], each["sequence_share"]) for each in found["streams"]] == [
        (None, None, 0.75),
        (None, None, 0.25),
    ]


def test_a_stream_that_fills_no_sequence_is_not_read(mill: Mill) -> None:
    """A trainer would stop at it."""
    mix = mix_of("texts", "talks", sequence_length=8)
    make_caches(mill, mix, texts=[7], talks=[5] * 10)
    indexes = indexes_of(mill, mix)
    indexes.close(mill.store)
    assert weights(mill) == {"texts": 0.0, "talks": 1.0}
    assert indexes.warnings(mill.store, INDEX) == (
        "stream 'texts' has 7 tokens, but gives no sequence of 8: training does not read it",
    )


@pytest.mark.parametrize(
    ("choice", "what", "tokens"),
    [("left", "cut", "13 of 38 tokens (34.2%)"), ("drop", "left out", "29 of 38 tokens (76.3%)")],
)
def test_documents_longer_than_a_sequence_are_warned_of(mill: Mill, choice: Slice, what: str, tokens: str) -> None:
    """Of 9 and 20 tokens, 8 stay of each, or none. The same is said before the index is written."""
    form = Chat(chat_template=TEMPLATE, slice_strategy=choice)
    mix = mix_of("texts", "talks", sequence_length=8, talks=form)
    make_caches(mill, mix, texts=[8, 7], talks=[9, 20, 5, 4])
    told = (
        f"stream 'talks': documents that are longer than a sequence of 8 tokens are {what} (2 of 4): {tokens} are never"
        " read; a longer sequence_length of the mix reads them"
    )
    [before] = expected_tokens(mill.store, read_catalogue(SHELVES), mix)
    assert before.cuts == (told,)
    indexes = indexes_of(mill, mix)
    indexes.close(mill.store)
    assert indexes.warnings(mill.store, INDEX) == (told,)


@pytest.mark.parametrize(
    "asked", [{"token_budget": 80}, {"temperature": 0.5}, {"proportions": {"texts": 0.5, "talks": 0.5}}]
)
@pytest.mark.parametrize("packed", [{"talks": Chat(pack=False)}, {"texts": Text(pack=2), "talks": Text()}])
def test_budgets_of_tokens_over_packed_streams_need_a_length(asked: dict[str, Any], packed: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=r"are packed into sequences .* give the mix sequence_length=4096"):
        mix_of("texts", "talks", **asked, **packed)
    mix_of("texts", "talks", sequence_length=8, **asked, **packed)


def test_budgets_over_texts_and_prebuilt_rows_need_none() -> None:
    mix_of("texts", "built", token_budget=80)
    with pytest.raises(RecipeError, match="sequence_length is 8, and the prebuilt rows of 'built' have 9 tokens"):
        mix_of("texts", "built", sequence_length=8, built=Prebuilt(input_ids_key="ids", length=9))


def test_documents_and_rows_at_which_a_trainer_stops_are_an_error_of_the_index(mill: Mill) -> None:
    mix = mix_of("texts", "built", sequence_length=8)
    make_caches(mill, mix, texts=[8] * 2, built=[8, 8, 9])
    with pytest.raises(DataError, match="stream 'built': 1 prebuilt rows have another length than"):
        indexes_of(mill, mix).write(mill.store, INDEX)
    assert mill.store.head(f"{INDEX}/data.yaml") is None


def test_a_conversation_that_must_not_be_cut_is_an_error_of_the_index(mill: Mill) -> None:
    mix = mix_of("texts", "talks", sequence_length=8, talks=Chat(chat_template=TEMPLATE, pack=False))
    make_caches(mill, mix, texts=[8], talks=[8, 9])
    with pytest.raises(DataError, match=r"talks/train: document 1: 9 tokens, but an example has 8"):
        indexes_of(mill, mix).write(mill.store, INDEX)


@pytest.mark.slow
def test_an_index_is_due_if_its_length_packing_or_plans_change_and_then_no_more(mill: Mill) -> None:
    mix = mix_of("texts", "talks", sequence_length=8, **HALVES)
    made(mill, mix, **TEN)
    assert indexes_of(mill, mix).close(mill.store) == {}
    before = mill.tree()
    plan = f"{INDEX}/packing/talks-train-8"
    for path in (f"{plan}.json", f"{plan}.npy", f"{INDEX}/packing/8.json"):
        mill.store.delete([path]) if path != f"{plan}.json" else mill.store.put(path, b"{")
        assert indexes_of(mill, mix).close(mill.store) == {
            INDEX: (f"{INDEX}/packing/8.json: there are no packing plans of 8 tokens for its slices",)
        }
        assert mill.tree() == before
    longer = mix_of("texts", "talks", sequence_length=16, **HALVES)
    assert list(indexes_of(mill, longer).close(mill.store)) == [INDEX]
    _, talks = mixture(mill)["streams"]
    assert (talks["sequences"], talks["sequence_tokens"]) == (4, 50)  # three of 5 tokens fit, and the last is alone
    pairs = mix_of("texts", "talks", sequence_length=16, talks=Chat(chat_template=TEMPLATE, pack=2), **HALVES)
    assert list(indexes_of(mill, pairs).close(mill.store)) == [INDEX]
    assert mixture(mill)["streams"][1]["sequences"] == 5


@pytest.mark.slow
def test_a_format_that_changed_since_the_cache_was_made_names_the_split_once_and_what_to_do(mill: Mill) -> None:
    mix = mix_of("texts", "talks", sequence_length=8)
    make_caches(mill, mix, **TEN)
    changed = mix_of("texts", "talks", sequence_length=8, texts=Chat(chat_template=TEMPLATE))
    with pytest.raises(DataError) as wrong:
        next(expected_tokens(mill.store, read_catalogue(SHELVES), changed))
    assert str(wrong.value) == (
        "token_caches/packed/bytes-1/texts/train: its rows have no field 'assistant_masks', but input_ids: they were"
        " made in another format; make the token cache again if its mix is a draft, else give the stream that format"
        " again, or declare a mix of another name"
    )
