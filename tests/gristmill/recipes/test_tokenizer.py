"""Tokenizers: how they are used travels whole, and a recipe says the same as ever."""

from typing import Any

import msgspec
import pytest

from gristmill.errors import RecipeError
from gristmill.lake.identity import digest_of
from gristmill.recipes.tokenizer import Tokenizer, TokenizerOptions, read_tokenizer_options

TEMPLATE = "{{ messages }}"
ALL: dict[str, Any] = {
    "eos": "</s>",
    "bos": "<s>",
    "eos_style": "clean",
    "long_strings": "marin",
    "specials": "refuse",
}
DEFAULTS: dict[str, Any] = {"eos": "<|endoftext|>", "bos": None, "eos_style": "levanter", "long_strings": "levanter"}


def brought(**changes: Any) -> Tokenizer:
    return Tokenizer(name="words-1", file="tokenizer.json", sha256="0", **changes)


def test_a_recipe_records_what_it_always_did_and_later_options_only_if_they_are_set() -> None:
    assert brought().options().parameters() == DEFAULTS
    assert brought(**ALL).options(TEMPLATE).parameters() == {**ALL, "template": digest_of(TEMPLATE)}
    assert brought(chat_template=TEMPLATE).options().parameters() == DEFAULTS  # texts need no template


@pytest.mark.parametrize(
    ("tokenizer", "template"), [(brought(), None), (brought(eos=None), None), (brought(**ALL), TEMPLATE)]
)
def test_options_come_back_from_a_recipe_and_from_what_workers_get(tokenizer: Tokenizer, template: str | None) -> None:
    options = tokenizer.options(template)
    recorded = msgspec.json.decode(msgspec.json.encode({**options.parameters(), "parts": 32, "tokenizer": "abc"}))
    assert read_tokenizer_options(recorded, template) == options
    assert msgspec.json.decode(msgspec.json.encode(options), type=TokenizerOptions) == options


def test_a_tokenizer_that_is_neither_trained_nor_brought_and_pinned_is_refused() -> None:
    with pytest.raises(RecipeError, match="give either training= or file="):
        Tokenizer(name="words-1")
    with pytest.raises(RecipeError, match="give the sha256= of its file"):
        Tokenizer(name="words-1", file="tokenizer.json")
    with pytest.raises(RecipeError, match="specials is 'none'; give tokens, text, refuse"):
        brought(specials="none")
