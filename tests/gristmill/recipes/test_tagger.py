from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Tagger


def silent(_: Document) -> dict[str, Any]:
    return {}


def test_a_tagger_needs_a_number_and_one_function() -> None:
    with pytest.raises(RecipeError, match="must end in its number"):
        Tagger(name="words", document=silent)
    with pytest.raises(RecipeError, match="exactly one of document= and batch="):
        Tagger(name="words-1")
    with pytest.raises(RecipeError, match="exactly one of document= and batch="):
        Tagger(name="words-1", document=silent, batch=lambda documents: {"a": [None] * len(documents)})
