from pathlib import Path

import pytest
from testkit import SHELVES

from gristmill.errors import RecipeError
from gristmill.scores.label_kinds import declared_kinds, declared_meanings

LAKE = "s3://corpus/lake"


def test_the_kinds_are_those_that_the_tagger_declares() -> None:
    assert declared_kinds(SHELVES, "words-1", LAKE) == {"count": "score", "first": "spans", "silent": "score"}
    assert declared_kinds((), "length-1", LAKE) == declared_kinds(("gristmill",), "length-1", LAKE) != {}


def test_the_set_of_a_dedupe_recipe_has_the_kinds_that_its_unit_declares() -> None:
    labels = ("duplicate", "cluster", "size", "similarity")
    assert declared_kinds(("dedupeshelf",), "near-1", LAKE) == dict.fromkeys(labels, "score")
    assert set(declared_meanings(("dedupeshelf",), "near-1", LAKE, labels)) == set(labels)


def test_a_set_without_a_tagger_or_without_declared_labels_has_no_kinds() -> None:
    assert declared_kinds(SHELVES, "nobody-1", LAKE) is None
    assert declared_kinds((), "words-1", LAKE) is None


def test_a_shelf_in_the_lake_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lake" / "ourmill"
    (package / "taggers").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    with pytest.raises(RecipeError, match=r"ourmill .*is in the lake"):
        declared_kinds(("ourmill",), "x-1", str(tmp_path / "lake"))


def test_meanings_are_those_that_the_tagger_declares_with_their_unit() -> None:
    told = declared_meanings(("gristmill",), "gopher-1", "/lake", ["word_count", "median_word_length", "nothing"])
    assert told == {
        "word_count": "words between white space",  # its unit is `words`, which is said already
        "median_word_length": "median of the words' lengths (code points)",
    }
    assert declared_meanings(("gristmill",), "unknown-1", "/lake", ["words"]) == {}
