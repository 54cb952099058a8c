"""What a dedupe recipe declares, and what it refuses."""

from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import (
    DocumentUnits,
    KeyUnits,
    MinHashUnits,
    NgramUnits,
    ParagraphUnits,
    SentenceUnits,
    Unit,
    unit_of_parameters,
)

SOURCES = ("wiki/v0", "news/v1")
RULE_2 = MinHashUnits(verification=2)


def test_the_rule_of_verification_is_in_the_recipe_but_for_the_first_which_older_ledgers_do_not_name() -> None:
    old, new = (Dedupe(name="near-1", unit=unit, sources=("pages/v0",)) for unit in (MinHashUnits(), RULE_2))
    assert "verification" not in old.recipe.parameters
    assert new.recipe.parameters == {**old.recipe.parameters, "verification": 2}
    assert new.fingerprint_recipe == old.fingerprint_recipe
    assert [unit_of_parameters(each.unit.parameters) for each in (old, new)] == [MinHashUnits(), RULE_2]
    with pytest.raises(RecipeError, match="verification"):
        MinHashUnits(verification=3)


def test_the_memory_and_the_words_for_people_are_not_part_of_the_recipe() -> None:
    one = Dedupe(name="dedupe-lines-1", unit=ParagraphUnits(), sources=SOURCES)
    other = Dedupe(name="dedupe-lines-1", unit=ParagraphUnits(), sources=SOURCES, memory=64, description="twice")
    assert one.recipe.digest == other.recipe.digest
    assert one.versions == {"wiki": "v0", "news": "v1"}


@pytest.mark.parametrize(
    ("unit", "labels"),
    [
        (DocumentUnits(key="metadata.url"), {"duplicate": "score"}),
        (ParagraphUnits(), {"duplicate": "spans"}),
        (NgramUnits(), {"duplicate": "spans"}),
        (KeyUnits(key="metadata.host"), {"number": "score", "size": "score"}),
        (MinHashUnits(), {"duplicate": "score", "cluster": "score", "size": "score", "similarity": "score"}),
    ],
)
def test_the_labels_follow_from_the_unit(unit: Unit, labels: dict[str, str]) -> None:
    recipe = Dedupe(name="dedupe-1", unit=unit, sources=SOURCES, scope="snapshot")
    assert {label.name: label.kind for label in recipe.labels} == labels


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "dedupe"}, "must end in its number"),
        ({"sources": ()}, "give sources="),
        ({"sources": ("wiki",)}, "a source and its version"),
        ({"sources": ("wiki/v0", "wiki/v1")}, "named twice"),
        ({"buckets": 0}, "buckets"),
        ({"scope": "lake"}, "scope"),
        ({"unit": KeyUnits()}, "number the documents of one snapshot; say scope='snapshot'"),
        ({"unit": KeyUnits(), "scope": "snapshot", "confirm": True}, "not KeyUnits; leave it out$"),
        ({"unit": NgramUnits(), "confirm": True}, "not NgramUnits; leave it out$"),
        (
            {"unit": MinHashUnits(), "confirm": True},
            r"not MinHashUnits; leave it out; MinHashUnits\(exact=True\) compares",
        ),
    ],
)
def test_a_wrong_option_is_refused_in_words(options: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"name": "dedupe-1", "unit": ParagraphUnits(), "sources": SOURCES, **options}
    with pytest.raises(RecipeError, match=says):
        Dedupe(**given)


def test_a_key_is_a_path_and_a_score_needs_its_rule() -> None:
    with pytest.raises(RecipeError, match="is no path"):
        DocumentUnits(key="url")
    with pytest.raises(RecipeError, match="keeper='score'"):
        MinHashUnits(score="quality-1__good")


def test_the_rule_of_sentences_is_in_recipe_and_fingerprints_but_for_the_first() -> None:
    old, new = SentenceUnits(), SentenceUnits(rule=2)
    assert old.parameters == old.fingerprint_parameters == {"unit": "sentence", "count": 3, "normalised": ""}
    assert new.parameters == new.fingerprint_parameters == {**old.parameters, "rule": 2}
    assert [unit_of_parameters(each.parameters) for each in (old, new)] == [old, new]
