"""Which labels an attribute set has, and of which kind, as its tagger declares them on a shelf."""

from collections.abc import Sequence

from gristmill.reading.columns import Kinds
from gristmill.recipes.shelf import HOME, check_outside, read_shelf
from gristmill.recipes.tagger import Tagger


def declared_kinds(shelves: Sequence[str], name: str, lake: str) -> Kinds | None:
    """`score` or `spans` for each label of a set; None if no tagger on the shelves declares its labels.

    Args:
        shelves: packages that have shelves; without any, those of Gristmill.
        name: of the set.
        lake: address of the lake; the packages are refused if they are in it.

    Raises:
        RecipeError: a declaration on the shelf is not valid, or the shelf is in the lake.
    """
    check_outside(lake, shelves)
    tagger = read_shelf("taggers", Tagger, tuple(shelves) or (HOME,)).get(name)
    if tagger is None or tagger.labels is None:
        return None
    return {label.name: label.kind for label in tagger.labels}
