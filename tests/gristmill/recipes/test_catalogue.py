import re
from dataclasses import replace

import pytest
from dagster_kit import SHELVES

from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.tokenizer import Tokenizer, Training

KIT = read_catalogue(SHELVES)


def _mix(**changed: str) -> dict[str, Mix]:
    return {"odd": Mix(name="odd", streams=(Stream(**{"source": "letters", "version": "v1", **changed}),))}  # type: ignore[arg-type]  # strings only


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"source": "lettres"}, "names the source 'lettres', which is on no shelf; known: diary, letters"),
        ({"version": "v2"}, "names the version 'v2', which is on no shelf; known: v0, v1"),
    ],
)
def test_a_mix_of_what_is_not_there_is_refused_with_what_is(changed: dict[str, str], words: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, KIT.taggers, _mix(**changed), {})


def test_a_rule_on_a_set_that_nobody_makes_is_refused() -> None:
    stream = Stream(
        source="letters",
        version="v1",
        columns=(score("cuont-1__words", "words"),),
        exclude=(Rule("short", "words < 2", "one word says nothing"),),
    )
    words = "names the tagger 'cuont-1', which is on no shelf; known: count-1, moody-1"
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, KIT.taggers, {"odd": Mix(name="odd", streams=(stream,))}, {})


def test_a_tokenizer_of_a_mix_or_stream_that_is_not_there_is_refused() -> None:
    for training, words in (
        (Training(mix="bland", snapshots={}), "names the mix 'bland', which is on no shelf; known: blend"),
        (Training(mix="blend", snapshots={"novels": ("1",)}), "mix 'blend' has no stream 'novels'; it has letters"),
    ):
        odd = {"odd-1": Tokenizer(name="odd-1", training=training)}
        with pytest.raises(RecipeError, match=re.escape(words)):
            Catalogue(KIT.sources, KIT.taggers, KIT.mixes, {**KIT.tokenizers, **odd})
    mixes = {"blend": replace(KIT.mixes["blend"], tokenizers=("odd-1",))}
    with pytest.raises(RecipeError, match="names the tokenizer 'odd-1', which is on no shelf; known: tiny-1"):
        Catalogue(KIT.sources, KIT.taggers, mixes, KIT.tokenizers)
