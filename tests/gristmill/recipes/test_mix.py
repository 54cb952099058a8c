from dataclasses import replace

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix, Stream

PAGES = Stream(source="pages", version="v0")


def test_names_and_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(RecipeError, match="rate is 0"):
        replace(PAGES, rate=0)
    with pytest.raises(RecipeError, match="version 'one' is not valid"):
        replace(PAGES, version="one")
    with pytest.raises(RecipeError, match="each stream needs its own name; it has pages, pages"):
        Mix(name="blend", streams=(PAGES, PAGES))
    with pytest.raises(RecipeError, match="has no stream 'book'; known: pages"):
        Mix(name="blend", streams=(PAGES,)).stream("book")
    with pytest.raises(RecipeError, match="validation is 1"):
        Mix(name="blend", streams=(PAGES,), validation=1)
