"""Which labels an attribute set has, and of which kind, as its tagger or dedupe recipe declares them on a shelf."""

from collections.abc import Iterable, Mapping, Sequence

from gristmill.lake.rows.label_values import ANY
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.shelf import HOME, check_outside, read_shelf
from gristmill.recipes.tagger import Tagger


def declared_kinds(shelves: Sequence[str], name: str, lake: str) -> Mapping[str, str] | None:
    """The kind of each label of a set, `score` or `spans`; None if no recipe on the shelves declares its labels.

    Args:
        shelves: packages that have shelves; without any, those of Gristmill.
        name: name of the set.
        lake: address of the lake; the packages are refused if they are in it.

    Raises:
        RecipeError: a declaration on the shelf is wrong, or the shelf is in the lake.
    """
    labels = _declared_labels(shelves, name, lake)
    return None if labels is None else {label.name: label.kind for label in labels}


def declared_meanings(shelves: Sequence[str], name: str, lake: str, labels: Iterable[str]) -> dict[str, str]:
    """The meanings of labels of a set, with their unit, by name; without those that no recipe on the shelves declares.

    Args:
        shelves: packages of the recipes, as for declared_kinds().
        name: name of the set.
        lake: address of the lake, as for declared_kinds().
        labels: names of labels.

    Raises:
        RecipeError: see declared_kinds.
    """
    known = {label.name: label for label in _declared_labels(shelves, name, lake) or ()}
    families = sorted((each for each in known if each.endswith(ANY)), key=len)
    found = {each: next((f for f in reversed(families) if each.startswith(f.removesuffix(ANY))), "") for each in labels}
    declared = {each: known.get(each) or known.get(family) for each, family in found.items()}
    return {each: d.meaning_with_unit for each, d in declared.items() if d is not None}


def _declared_labels(shelves: Sequence[str], name: str, lake: str) -> Sequence[Score | Spans] | None:
    check_outside(lake, shelves)
    packages = tuple(shelves) or (HOME,)
    tagger = read_shelf("taggers", Tagger, packages).get(name)
    if tagger is not None:
        return tagger.labels
    dedupe = read_shelf("dedupes", Dedupe, packages).get(name)
    return None if dedupe is None else dedupe.labels
