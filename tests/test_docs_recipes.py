"""The pages of recipes and of taggers have every field, and the line that puts each tagger on a shelf."""

import importlib
import pkgutil
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gristmill import taggers
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.shelf import constants_of_type, read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"


def section(page: str, heading: str) -> str:
    """The text below a heading of the second level."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", (REFERENCE / page).read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no heading {heading!r}"
    return found[1]


@pytest.mark.parametrize(
    ("recipe", "within"),
    [
        (Source, "Source"),
        (Tagger, "Tagger"),
        (LabelledSet, "LabelledSet"),
        (Draw, "LabelledSet"),
        (Model, "Model"),
        (FastTextTraining, "Model"),
        (Mix, "Mix"),
        (Export, "Export"),
    ],
)
def test_the_page_of_recipes_has_every_field(recipe: type[Any], within: str) -> None:
    told = section("recipes.md", within)
    named = {word for quoted in re.findall(r"`([^`\n]+)`", told) for word in re.findall(r"\w+", quoted)}
    assert {field.name for field in fields(recipe)} - named == set()


def test_the_page_of_taggers_has_the_line_that_puts_each_on_a_shelf() -> None:
    lines = dict(
        re.findall(r"^\| `(\S+)` \| `(from .*)` \|$", section("taggers/README.md", "On a shelf"), re.MULTILINE)
    )
    rooms = [each.name for each in pkgutil.walk_packages(taggers.__path__, "gristmill.taggers.") if not each.ispkg]
    declared = {tagger.name for room in rooms for tagger in constants_of_type(importlib.import_module(room), Tagger)}
    assert set(lines) == declared
    for tagger, line in lines.items():
        space: dict[str, Any] = {}
        exec(line, space)
        assert next(each for each in space.values() if isinstance(each, Tagger)).name == tagger


def test_the_page_of_taggers_says_which_come_with_the_shelf_of_gristmill() -> None:
    said = section("taggers/README.md", "On a shelf").partition("| tagger")[0]
    assert set(re.findall(r"`(\S+-1)`", said)) == set(read_shelf("taggers", Tagger))
