"""Options of recipes have the types that they are declared with. A list from YAML is as good as a tuple."""

from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.tokenizer import Tokenizer, Training

PAGES = (Stream(source="pages", version="v0"),)


@pytest.mark.parametrize(
    ("recipe", "options", "said"),
    [
        (Mix, {"draft": "no"}, "draft is 'no'; give `bool`, got `str`"),
        (Mix, {"validation": "0.1"}, "validation is '0.1'"),
        (Mix, {"parts": 2.5}, "parts is 2.5"),
        (Mix, {"tokenizers": "words-1"}, "tokenizers is 'words-1'"),
        (Tokenizer, {"eos": 0}, "eos is 0"),
        (Tokenizer, {"eos_style": "tidy"}, "eos_style is 'tidy'; give levanter, clean"),
        (Tokenizer, {"long_strings": "none"}, "long_strings is 'none'; give levanter, marin"),
        (Tokenizer, {"draft": "yes"}, "draft is 'yes'"),
        (Training, {"vocabulary": "300"}, "vocabulary is '300'"),
        (Training, {"special": "<|pad|>"}, "special is '<|pad|>'"),
        (Stream, {"weight": "2"}, "weight is '2'"),
        (Stream, {"rate": True}, "rate is True"),
    ],
)
def test_an_option_of_another_type_is_refused(recipe: Any, options: dict[str, Any], said: str) -> None:
    required: dict[Any, dict[str, Any]] = {
        Mix: {"name": "m", "streams": PAGES},
        Tokenizer: {"name": "words-1", "file": "tokenizer.json", "sha256": "0" * 64},
        Training: {"mix": "m", "snapshots": {}},
        Stream: {"source": "pages", "version": "v0"},
    }
    recipe(**required[recipe])
    with pytest.raises(RecipeError, match=said.replace("|", "[|]")):
        recipe(**required[recipe], **options)


def test_a_list_is_as_good_as_a_tuple_and_a_whole_number_as_a_share() -> None:
    Mix(name="m", streams=PAGES, tokenizers=["words-1"], validation=0)  # type: ignore[arg-type]
