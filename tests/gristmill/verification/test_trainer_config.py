"""A `data.yaml` against the recipe that a slice records."""

import json
from dataclasses import replace
from typing import Any

import pytest
from wholelake import CACHE, TOKENIZER, even

from gristmill.errors import RecipeError
from gristmill.lake.ledger.files import compose_ledger
from gristmill.lake.ledger.model import Ledger, Recipe
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text, format_parameters
from gristmill.stages.token_cache.levanter_config import levanter_data_yaml
from gristmill.verification.trainer_config import first_wrong_value, recorded_format

INDEX = "token_caches/even/tiny-1/index"
CHAT = Chat(chat_template="{{ messages }}", pack=4, slice_strategy="right")


def head(form: Format, eos: str | None = "<|endoftext|>") -> Ledger:
    return compose_ledger(CACHE, Recipe("tokenize", 1, {"format": format_parameters(form), "eos": eos}), (), [])


def written(form: Format) -> bytes:
    mix = even()
    mix = replace(mix, streams=(replace(mix.streams[0], format=form),))
    return levanter_data_yaml("lake", mix, TOKENIZER, mix.weights)


def wrong(data: bytes, *heads: Ledger) -> str | None:
    return first_wrong_value(data, "lake", INDEX, {"pages": CACHE.asset}, heads)


@pytest.mark.parametrize("form", [Text(), Text(pack=3), CHAT, Chat(), Prebuilt(loss_weights_key="weights")])
def test_what_is_written_for_a_format_follows_from_its_slices(form: Format) -> None:
    assert wrong(written(form), head(form), head(form)) is None
    assert wrong(written(form)) is None  # no slice yet


def test_a_format_or_an_end_that_one_slice_does_not_record_is_named_with_the_slice() -> None:
    evil = written(replace(CHAT, chat_template="evil"))
    says = f'the recipe of {CACHE.asset} ({CACHE.snapshot}) says "{{{{ messages }}}}"'
    assert wrong(evil, head(CHAT)) == f'its components.pages.format.chat_template is "evil", {says}'
    assert wrong(evil) is None
    assert "its enforce_eos is true" in (wrong(written(CHAT), head(CHAT), head(CHAT, eos=None)) or "")
    assert "its components.pages.format.type" in (wrong(written(Text()), head(Text()), head(CHAT)) or "")


def test_packing_and_weights_are_the_mix_s_own() -> None:
    config: dict[str, Any] = json.loads(written(CHAT))
    config |= {"train_weights": {"pages": 3}, "mixture_block_size": 7}
    config["components"]["pages"]["format"] |= {"pack": 9, "slice_strategy": "drop"}
    assert wrong(json.dumps(config, indent=2).encode() + b"\n", head(CHAT)) is None


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (written(Text()).replace(b"{", b'{\n  "tokenizer": "gpt2",', 1), "its bytes are not those"),  # a key twice
        (b"[]\n", "it has weights of []"),
    ],
)
def test_bytes_that_gristmill_does_not_write_are_named(data: bytes, what: str) -> None:
    assert what in (wrong(data, head(Text())) or "")


def test_a_recipe_without_a_valid_format_is_refused() -> None:
    assert recorded_format({}) == Text()
    with pytest.raises(RecipeError, match="not a mapping"):
        recorded_format({"format": ["text"]})
