"""The recipes of the kinds of installed packages."""

from dataclasses import dataclass
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.rows_recipe import RowsRecipe, recipe_type


@dataclass(frozen=True, kw_only=True)
class Widths(RowsRecipe):
    width: int = 100


class WidthsKind:
    recipe = Widths


def test_the_options_are_those_that_the_package_adds() -> None:
    declared = Widths(name="wide-1", sources=("wiki/v0", "news/v1"), width=7, draft=True)
    assert declared.options == {"width": 7}
    assert declared.versions == {"wiki": "v0", "news": "v1"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "wide"}, "must end in its number"),
        ({"sources": ("wiki",)}, "source 'wiki': give a source and its version"),
        ({"draft": "yes"}, "draft"),
        ({"same_output": True}, "give same_output=True and reason="),
    ],
)
def test_a_wrong_declaration_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(RecipeError, match=why):
        Widths(**({"name": "wide-1", "sources": ("wiki/v0",)} | given))


def test_a_kind_names_the_class_of_its_recipes() -> None:
    assert recipe_type(WidthsKind) is Widths
    assert recipe_type(Widths) is None
    assert recipe_type(object()) is None
