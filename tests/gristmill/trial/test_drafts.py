from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.trial.drafts import find_recipe_to_try

DRAFT = """
from gristmill.recipes.tagger import Score, Tagger

def tag(document):
    return {"zero": 0.0}

FIRST = Tagger(name="first-1", document=tag, labels=(Score("zero", "always 0"),))
"""
SECOND = 'SECOND = Tagger(name="second-1", document=tag)\n'


def find(name: str | Path, lake: str = "s3://bucket/lake") -> str:
    return find_recipe_to_try(str(name), ("gristmill", "testshelf"), lake).name


def test_a_tagger_is_found_by_its_name_or_by_its_file(tmp_path: Path) -> None:
    draft = tmp_path / "my_tagger.py"
    draft.write_text(DRAFT)
    assert [find("words-1"), find("gopher-1"), find(draft)] == ["words-1", "gopher-1", "first-1"]


def test_a_transform_that_ships_needs_no_shelf() -> None:
    assert find_recipe_to_try("ocr-noise-1", ("testshelf",), "s3://bucket/lake").name == "ocr-noise-1"


def test_of_several_taggers_in_a_file_one_is_named(tmp_path: Path) -> None:
    draft = tmp_path / "two.py"
    draft.write_text(DRAFT + SECOND)
    assert find(f"{draft}:second-1") == "second-1"
    with pytest.raises(
        RecipeError, match=r"declares 2 taggers; name one, as in .*two\.py:first-1; known: first-1, sec"
    ):
        find(draft)
    with pytest.raises(RecipeError, match=r"no tagger 'second-2'.* did you mean 'second-1'"):
        find(f"{draft}:second-2")


def test_an_unknown_name_is_told_with_those_that_are_near() -> None:
    with pytest.raises(RecipeError, match=r"no 'gofer-1' on the shelves.*did you mean 'gopher-1'.*my_tagger\.py"):
        find("gofer-1")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\nraise ValueError('no')\n", "line 2 cannot be imported: ValueError: no"),
        ("def tag(:\n", "SyntaxError"),
        ("import sys; sys.exit(0)\n", "called sys.exit"),
        ("from gristmill.recipes.tagger import Tagger\nTagger(name='a')\n", "the name must end in its number"),
        ("x = 1\n", "declares 0 taggers; known: none"),
    ],
)
def test_a_file_that_declares_no_tagger_is_told_with_its_line(tmp_path: Path, code: str, said: str) -> None:
    draft = tmp_path / "broken.py"
    draft.write_text(code)
    with pytest.raises(RecipeError) as error:
        find(draft)
    assert str(error.value).startswith(str(draft))
    assert said in str(error.value)


def test_a_missing_file_and_one_in_the_lake_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="there is no such file"):
        find(tmp_path / "none.py")
    (tmp_path / "draft.py").write_text(DRAFT)
    with pytest.raises(RecipeError, match="is in the lake"):
        find(tmp_path / "draft.py", str(tmp_path))
