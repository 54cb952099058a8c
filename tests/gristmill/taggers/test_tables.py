"""The tables of docs/reference/taggers are those of the declarations."""

from importlib import import_module
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules

import pytest

from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.tagger import Score, Spans, Tagger

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "docs" / "reference" / "taggers").glob("*.md"))
ROOMS = sorted(path.name for path in (ROOT / "gristmill" / "taggers").iterdir() if (path / "__init__.py").exists())
"""Rooms of ready taggers. They are on no shelf until a module of a shelf imports them."""


def ready(room: str) -> dict[str, Tagger]:
    """The taggers that the modules of a room declare."""
    package = f"gristmill.taggers.{room}"
    names = [each.name for each in iter_modules([str(ROOT / "gristmill" / "taggers" / room)])]
    modules = [import_module(f"{package}.{name}") for name in names if not name.startswith("_")]
    return {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Tagger)}


TAGGERS = dict(read_catalogue(("gristmill",)).taggers)
for each in ROOMS:
    TAGGERS |= ready(each)
NAMED = 3
"""Labels of one meaning that a row names; the others are counted."""


def rows_of(tagger: Tagger) -> list[str]:
    """The rows of a tagger's table. Labels that differ by their names alone share one."""
    return [
        f"| {_names([label.name for label in labels])} | {facts[0]} | {' | '.join(facts[1:])} |"
        for facts, labels in ((facts, list(group)) for facts, group in groupby(tagger.labels or (), key=_facts))
    ]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:NAMED]) + more


def _facts(label: Score | Spans) -> tuple[str, str, str, str]:
    low, high = (None if bound is None else f"{bound:g}" for bound in (label.low, label.high))
    bounds = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}" if high else "any"
    return label.kind, label.unit or "", bounds, label.meaning + ("; may be missing" if label.optional else "")


@pytest.mark.parametrize("name", TAGGERS)
def test_the_table_of_a_tagger_is_that_of_its_declaration(name: str) -> None:
    (page,) = [page for page in PAGES if f"\n## {name}\n" in page.read_text()]
    section = page.read_text().partition(f"## {name}\n")[2].partition("\n## ")[0]
    assert TAGGERS[name].labels is not None
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows_of(TAGGERS[name])


def test_labels_of_one_meaning_share_a_row() -> None:
    labels = [Score(each, "likelihood", low=0, high=1, optional=True) for each in ("de", "en", "fr", "nl")]
    tagger = Tagger(name="x-1", document=lambda _: {}, labels=[Spans("cry", "cries", unit="dB", low=1), *labels])
    assert rows_of(tagger) == [
        "| `cry` | spans | dB | from 1 | cries |",
        "| `de`, `en`, `fr` and 1 more | score |  | 0 to 1 | likelihood; may be missing |",
    ]
