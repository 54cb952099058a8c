from dataclasses import replace
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.adopted.dataset import refuse_conversion
from gristmill.recipes.drift.bounds import Bounds
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, LineUnits
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.label import Score
from gristmill.recipes.mix import Mix, Stream, recipe_of_selection
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Label, Tagger

RULES: dict[str, Any] = {
    "columns": (field("metadata.number", "BIGINT", name="n"),),
    "exclude": (Rule("too-short", "n < 2", "says nothing"),),
    "blocklists": ("takedowns",),
    "edits": (Edit(spans="pii-1__email", mask="*"),),
    "transforms": ("tidy-1",),
    "rate": 0.5,
}
NAMED = {"too-short", "blocklist: takedowns", "sampled out", "not chosen", "transform tidy-1: empty", "*"}


def stream(**bounds: Any) -> Stream:
    return Stream(source="pages", version="v1", bounds=Bounds(**bounds), **RULES)


def unlabelled(document: Document) -> dict[str, Label]:  # noqa: ARG001 - a tagger's function
    return {}


def source(**bounds: Any) -> Source:
    return Source(name="pages", convert=refuse_conversion, bounds=Bounds(**bounds))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": (2, 0.5)}, "bounds: rows is (2, 0.5); give the least and the most, as multiples of the level"),
        ({"rows": (-1, 2)}, "give the least and the most"),
        ({"bytes": (0.5,)}, "bounds: bytes is (0.5,)"),
        ({"tokens": 0.5}, "bounds: tokens is 0.5; give"),
        ({"dropped": {"a": 1.5}}, "bounds: dropped is {'a': 1.5}; give at least 0 and at most 1"),
        ({"dropped": 0.5}, "bounds: dropped is 0.5; give a mapping"),
        ({"duplicates": -0.1}, "bounds: duplicates is -0.1"),
        ({"scores": {"words": float("nan")}}, "a finite number"),
    ],
)
def test_bounds_that_are_none_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as error:
        Bounds(**options)
    assert words in str(error.value)


def test_a_stream_takes_the_reasons_that_it_has() -> None:
    assert stream(rows=(0.5, 2), tokens=(0.5, 2), dropped=dict.fromkeys(NAMED, 0.5)).bounds is not None
    assert stream(removed={"edits": 0.3, "transform tidy-1": 0.3}).bounds is not None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: stream(dropped={"too-shrot": 0.5}), "no row is dropped for 'too-shrot'; did you mean 'too-short'?"),
        (lambda: stream(dropped={"blocklist: other": 0.5}), "no row is dropped for 'blocklist: other'"),
        (lambda: stream(removed={"transform other-1": 0.5}), "'transform other-1' changes no text"),
        (lambda: stream(scores={"words": 1}), "stream 'pages': bounds has scores, which it does not count"),
        (lambda: stream(duplicates=0.5), "bounds has duplicates"),
        (lambda: source(tokens=(0.5, 2)), "source 'pages': bounds has tokens"),
        (lambda: source(dropped={"too-short": 0.5}), "no row is dropped for 'too-short'"),
        (lambda: Revision(version="v1", bounds=Bounds(tokens=(0.5, 2))), "revision 'v1': bounds has tokens"),
    ],
)
def test_a_bound_of_what_a_recipe_has_not_is_refused(make: Any, words: str) -> None:
    with pytest.raises(RecipeError) as error:
        make()
    assert words in str(error.value)


def test_a_source_takes_the_reasons_of_its_reader() -> None:
    assert source(dropped={"quarantine: empty text": 0.1, "left out: image": 0.9, "*": 1}).bounds is not None


def test_a_tagger_takes_its_own_labels() -> None:
    labels = (Score("words", "number of words"),)
    tagger = Tagger(name="length-1", document=unlabelled, labels=labels)
    assert replace(tagger, bounds=Bounds(scores={"words": 0.5})).recipe.digest == tagger.recipe.digest
    with pytest.raises(RecipeError, match="bounds, scores: no label 'wrods'; did you mean 'words'"):
        replace(tagger, bounds=Bounds(scores={"wrods": 0.5}))


def test_a_dedupe_recipe_bounds_marked_documents_and_no_smaller_units() -> None:
    dedupe = Dedupe(name="same-1", unit=DocumentUnits(), sources=("pages/v0",))
    assert replace(dedupe, bounds=Bounds(duplicates=0.5)).recipe.digest == dedupe.recipe.digest
    with pytest.raises(RecipeError, match="bounds has duplicates"):
        replace(dedupe, unit=LineUnits(), bounds=Bounds(duplicates=0.5))


def test_bounds_and_accept_enter_no_digest() -> None:
    free, bound = Stream(source="pages", version="v1", **RULES), stream(rows=(0.5, 2), dropped={"*": 0.5})
    digests = {recipe_of_selection("blend", each, draft=False).digest for each in (free, bound)}
    assert len(digests) == 1
    assert free.parameters() == bound.parameters()
    plain = Source(name="pages", convert=refuse_conversion)
    changed = replace(plain, bounds=Bounds(rows=(0.5, 2)), accept="2025-06")
    assert changed.conversion_parameters() == plain.conversion_parameters()
    assert Mix(name="blend", streams=(bound,)).streams[0].bounds == bound.bounds


@pytest.mark.parametrize("accept", ["a/b", "..", "-x", "x.run"])
def test_accept_names_a_snapshot(accept: str) -> None:
    with pytest.raises(RecipeError, match=r"accept is .*; give the key of a snapshot"):
        Source(name="pages", convert=refuse_conversion, accept=accept)
