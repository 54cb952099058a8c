"""Selections: what is refused when they load, and the way through a ledger or to a worker and back."""

import msgspec
import pytest

from gristmill.errors import RecipeError
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.rules import Rule, field, score, spans
from gristmill.recipes.selection import Selection, read_selection

EVERYTHING = Selection(
    columns=(field("metadata.stars", "BIGINT"), score("words-1__count", "words"), spans("tox-1__x", "tox")),
    include=(Rule("liked", "stars > 3", "people like it"),),
    exclude=(Rule("short", "words < 2", "too short"), Rule("toxic", "len(tox) > 0", "nobody wants it")),
    blocklists=("takedowns", "evaluation"),
    rate=0.1,
    seed=7,
)


@pytest.mark.parametrize("selection", [Selection(), EVERYTHING])
def test_a_selection_comes_back_from_its_recipe_with_all_that_changes_rows(selection: Selection) -> None:
    recipe = Recipe("all/pages", 1, selection.parameters())
    read = msgspec.json.decode(msgspec.json.encode(recipe), type=Recipe)
    assert read.digest == recipe.digest
    again = read_selection(read.parameters)
    assert again.parameters() == selection.parameters()
    assert (again.sets, again.columns, again.blocklists) == (selection.sets, selection.columns, selection.blocklists)


def test_a_rate_or_a_column_that_is_impossible_is_refused() -> None:
    for rate in (0.0, -0.5, 1.5):
        with pytest.raises(RecipeError, match=f"rate is {rate}; give a share of rows above 0"):
            Selection(rate=rate)
    with pytest.raises(RecipeError, match="a column's path is '<set>__<label>'"):
        Selection(columns=(score("Words__count", "words"),))
