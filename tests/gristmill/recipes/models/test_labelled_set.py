from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.readers.delimited import DelimitedRows
from gristmill.recipes.models.labelled_set import Draw, LabelledSet, check_label

READ = DelimitedRows(source="remarks", id_key=None)
DRAWN = {"good": (Draw(source="books", snapshots=("2024",)),), "web": (Draw(source="web", snapshots=("2024",)),)}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "either file="),
        ({"drawn": DRAWN, "file": "a.csv", "sha256": "0", "read": READ}, "either file="),
        ({"file": "a.csv", "sha256": "0"}, "a reader as read="),
        ({"file": "a.csv", "read": READ}, "give the sha256="),
        ({"file": "a.csv", "sha256": "0", "read": READ, "labels": {"0": "very rude"}}, "without white space"),
        ({"file": "a.csv", "sha256": "0", "read": READ, "labels": {"0": "rude", "1": "rude"}}, "needs two labels"),
        ({"drawn": {"good": DRAWN["good"]}}, "needs two labels"),
        ({"drawn": DRAWN, "held_out": 0}, "held_out"),
    ],
)
def test_a_declaration_that_cannot_be_made_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(RecipeError, match=match):
        LabelledSet(name="remarks", **options)


def test_draws_name_snapshots_and_a_share() -> None:
    with pytest.raises(RecipeError, match="name the snapshots"):
        Draw(source="books", snapshots=())
    with pytest.raises(RecipeError, match="share"):
        Draw(source="books", snapshots=("2024",), share=1.5)


@pytest.mark.parametrize("label", ["", "a b", "a\n", "\x00", "x" * 101])
def test_a_label_that_fasttext_would_end_early_is_refused(label: str) -> None:
    with pytest.raises(RecipeError, match="without white space"):
        check_label(label, "set")


def test_other_options_of_the_reader_are_another_recipe() -> None:
    one = LabelledSet(name="remarks", file="a.csv", sha256="0", read=READ)
    two = LabelledSet(name="remarks", file="b.csv", sha256="0", read=DelimitedRows(source="remarks", delimiter=";"))
    assert one.recipe.digest != two.recipe.digest
    assert one.recipe.digest == LabelledSet(name="remarks", file="b.csv", sha256="0", read=READ).recipe.digest
