"""What a dedupe recipe names exists: sources, versions, and the score that chooses what a cluster keeps."""

from dataclasses import replace

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, MinHashUnits
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger

PAGES = read_shelf("sources", Source, ("gristmill", "testshelf"))["pages"]
V1 = Revision(
    version="v1",
    columns=(score("near-1__duplicate", "twice", optional=True),),
    exclude=(Rule("twice", "twice = 1", "x"),),
)
GOOD = Tagger(name="good-1", document=lambda _: {"share": 1.0}, labels=(Score("share", "x"), Spans("part", "x")))


def near(path: str, over: str = "pages/v0") -> Dedupe:
    unit = MinHashUnits(ngram=1, bands=2, rows=2, keeper="score", score=path)
    return Dedupe(name="near-1", unit=unit, sources=(over,))


def catalogue(dedupe: Dedupe, *revisions: Revision, tagger: Tagger = GOOD) -> Catalogue:
    pages = replace(PAGES, revisions=revisions)
    return Catalogue({"pages": pages}, {tagger.name: tagger}, {}, {}, dedupes={dedupe.name: dedupe})


@pytest.mark.parametrize(
    ("dedupe", "tagger", "wrong"),
    [
        (near("goud-1__share"), GOOD, r"score= over pages/v0 names the attribute set 'goud-1'"),
        (near("good-1__shere"), GOOD, r"'good-1' declares no score 'shere'.* share"),
        (near("good-1__part"), GOOD, r"'good-1' declares no score 'part'.* share"),
        (near("good-1__share"), replace(GOOD, only=frozenset({"notes"})), "attribute set 'good-1'|source 'notes'"),
        (near("good-1__share", "pages/v7"), GOOD, r"version 'v7'"),
        (near("good-1__share", "papers/v0"), GOOD, r"source 'papers'"),
        (replace(near("good-1__share"), name="good-1", unit=DocumentUnits()), GOOD, "a tagger has this name"),
    ],
)
def test_a_name_that_is_wrong_is_refused_when_the_recipes_are_read(dedupe: Dedupe, tagger: Tagger, wrong: str) -> None:
    with pytest.raises(RecipeError, match=wrong):
        catalogue(dedupe, tagger=tagger)


def test_the_set_that_chooses_what_a_cluster_keeps_is_made_for_the_version_that_is_compared() -> None:
    known = catalogue(near("good-1__share"), V1)
    assert known.attribute_sets_of_version(known.sources["pages"], "v0") == ["good-1", "near-1"]
    known = catalogue(near("good-1__share", "pages/v1"), replace(V1, columns=(), exclude=()))
    assert known.attribute_sets_of_version(known.sources["pages"], "v0") == []
