from typing import Any

import pytest
from panics import panic

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Tagger, TaggerFailed


def silent(_: Document) -> dict[str, Any]:
    return {}


def test_a_tagger_needs_a_number_and_one_function() -> None:
    with pytest.raises(RecipeError, match="must end in its number"):
        Tagger(name="words", document=silent)
    with pytest.raises(RecipeError, match="exactly one of document= and batch="):
        Tagger(name="words-1")
    with pytest.raises(RecipeError, match="exactly one of document= and batch="):
        Tagger(name="words-1", document=silent, batch=lambda documents: {"a": [None] * len(documents)})


def test_a_document_on_which_a_tagger_panics_is_named() -> None:
    def look(document: Document) -> dict[str, Any]:
        if document.id == "b":
            panic()
        return {}

    documents = [Document(name, "text", "tales") for name in "abc"]
    with pytest.raises(TaggerFailed, match="PanicException: Onig") as failed:
        Tagger(name="words-1", document=look).look(documents)
    assert failed.value.number == 1
    with pytest.raises(KeyboardInterrupt):
        Tagger(name="words-1", document=_interrupt).look(documents)


def _interrupt(_: Document) -> dict[str, Any]:
    raise KeyboardInterrupt
