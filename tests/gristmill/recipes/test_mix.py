from dataclasses import replace
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix, Stream

PAGES = Stream(source="pages", version="v0")


def test_names_and_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(RecipeError, match="rate is 0"):
        replace(PAGES, rate=0)
    with pytest.raises(RecipeError, match="rate is 1e-12: it would keep no row of a billion"):
        replace(PAGES, rate=1e-12)
    with pytest.raises(RecipeError, match="version 'one' is not valid"):
        replace(PAGES, version="one")
    with pytest.raises(RecipeError, match="each stream needs its own name; it has pages, pages"):
        Mix(name="blend", streams=(PAGES, PAGES))
    with pytest.raises(RecipeError, match="has no stream 'book'; known: pages"):
        Mix(name="blend", streams=(PAGES,)).stream("book")
    with pytest.raises(RecipeError, match="validation is 1"):
        Mix(name="blend", streams=(PAGES,), validation=1)


CODE = Stream(source="code", version="v0")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"proportions": {"pages": 1.0}}, "it has proportions of pages; give one to each of code, pages"),
        ({"proportions": {"pages": 0.7, "code": 0.2}}, "give shares above 0 that add up to 1"),
        ({"proportions": {"pages": 1.0, "code": 0.0}}, "give shares above 0 that add up to 1"),
        ({"proportions": {"pages": 0.5, "code": 0.5}, "temperature": 0.3}, "leave out one of them"),
        ({"temperature": 2.0}, "temperature is 2.0"),
        ({"temperature": 0.3, "streams": (PAGES, replace(CODE, weight=2.0))}, "give only one of them"),
        ({"streams": (replace(PAGES, weight=2.0), replace(CODE, repeats=2.0))}, "give only one of them"),
    ],
)
def test_declarations_about_shares_that_contradict_each_other_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Mix(**{"name": "blend", "streams": (PAGES, CODE), **options})


def test_a_share_that_gives_no_sequence_in_a_block_is_refused_with_its_stream() -> None:
    mix = Mix(name="blend", streams=(PAGES, CODE), temperature=1.0)
    assert mix.reading({"pages": 3000, "code": 1000}).shares == {"pages": 0.75, "code": 0.25}
    with pytest.raises(RecipeError, match="in a block of 2048 sequences these streams get none: code"):
        mix.reading({"pages": 1_000_000, "code": 1})
