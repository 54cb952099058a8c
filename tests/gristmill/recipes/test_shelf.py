import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from testkit import SHELVES

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import check_outside, find_recipe, known_recipe, read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger


def test_a_wrong_name_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"no 'pagse' on this shelf; did you mean 'pages'\? known: pages, .*notes"):
        find_recipe("sources", Source, SHELVES, "pagse")


@pytest.mark.parametrize(("what", "page"), [("tagger", "reference/taggers/README"), ("transform", "how-to/transforms")])
def test_what_ships_and_is_on_no_shelf_is_told_with_the_line_that_puts_it_there(what: str, page: str) -> None:
    text = (Path(__file__).parents[3] / f"docs/{page}.md").read_text()
    lines = re.findall(r"^\| `([a-z0-9-]+)` \| `(from gristmill\.[^`]+)` \|", text, re.MULTILINE)
    assert len(lines) >= 5
    for name, line in lines:
        with pytest.raises(RecipeError, match=re.escape(f"your shelf {what}s/ that says `{line}` has it")):
            known_recipe(what, {}, name, "mix 'blend'")
    with pytest.raises(RecipeError, match=r"on no shelf; known: none$"):
        known_recipe(what, {}, "none-such-1", "mix 'blend'")


def test_a_module_with_two_declarations_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "othershelf" / "sources"
    shelf.mkdir(parents=True)
    (shelf / "both.py").write_text(
        "from gristmill.recipes.source import Source\n"
        "ONE = Source(name='one', convert=list)\nTWO = Source(name='two', convert=list)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RecipeError, match=r"othershelf\.sources\.both: .*exactly one Source, this one 2"):
        read_shelf("sources", Source, ("othershelf",))


def test_a_misspelt_shelf_is_named_and_other_folders_are_the_packages_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "speltshelf"
    for folder, text in (("source", "ONE = Source(name='one', convert=list)\n"), ("mixers", "MIX = 3\n")):
        (package / folder).mkdir(parents=True)
        (package / folder / "one.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    told = r"speltshelf: source/ is no shelf, but one\.py in it declares a Source; rename the folder to sources/"
    with pytest.raises(RecipeError, match=told):
        read_shelf("sources", Source, ("speltshelf",))
    assert read_shelf("mixes", Mix, ("speltshelf",)) == {}
    (package / "source").rename(package / "sources")
    assert read_shelf("taggers", Tagger, ("speltshelf",)) == {}


def test_so_is_one_beside_the_right_shelf_unless_the_shelf_imports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "besideshelf"
    made = "from gristmill.recipes.tagger import Tagger\nTWO = Tagger(name='two-1', fields={}, tag=len)\n"
    for name in ("tagger/two.py", "taggers/_none.py"):
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text(made)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        RecipeError, match=r"tagger/ is no shelf, but two\.py in it declares a Tagger; move it to taggers/"
    ):
        read_shelf("taggers", Tagger, ("besideshelf",))
    monkeypatch.setitem(sys.modules, "besideshelf.tagger.two", ModuleType("two"))
    assert read_shelf("taggers", Tagger, ("besideshelf",)) == {}


def test_a_recipe_that_is_imported_to_make_another_of_it_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "madeshelf" / "sources"
    shelf.mkdir(parents=True)
    (shelf / "made.py").write_text(
        "from dataclasses import replace\nfrom testshelf.sources.pages import PAGES\nOWN = replace(PAGES, name='own')\n"
    )
    (shelf / "taken.py").write_text("from testshelf.sources.pages import PAGES as THEIRS\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(read_shelf("sources", Source, ("madeshelf",))) == ["own", "pages"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import os\n\ndef f(:\n", r"broken\.py, line 3: SyntaxError: invalid syntax"),
        ("\nimport not_installed_anywhere\n", r"broken\.py, line 2: ModuleNotFoundError: No module named 'not_inst"),
        ("ONE = 1\nTWO = ONE / 0\n", r"broken\.py, line 2: ZeroDivisionError: division by zero"),
        ("import re\nre.compile('(')\n", r"broken\.py, line 2: \w+: missing \)"),
        ("raise SystemExit(3)\n", r"broken\.py, line 1: SystemExit: 3"),
    ],
)
@pytest.mark.parametrize("place", ["sources/broken.py", "__init__.py", "sources/__init__.py"])
def test_a_recipe_that_cannot_be_imported_is_told_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, named: str, place: str
) -> None:
    package = f"shelf{abs(hash((text, place)))}"  # a module is imported once only
    (tmp_path / package / "sources").mkdir(parents=True)
    (tmp_path / package / "sources" / "whole.py").write_text(
        "from gristmill.recipes.source import Source\nONE = Source(name='one', convert=list)\n"
    )
    (tmp_path / package / place).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RecipeError, match=named.replace("broken", Path(place).stem)):
        read_shelf("sources", Source, (package,))


EVIL = "raise SystemExit('it ran')"
"""A module that ends the test if it is imported."""


def evil(folder: Path, shelf: str = "sources") -> Path:
    """A package in which each module would run code."""
    (folder / shelf).mkdir(parents=True)
    for path in (folder / "__init__.py", folder / shelf / "__init__.py", folder / shelf / "one.py"):
        path.write_text(EVIL)
    return folder


@pytest.mark.parametrize(
    "way", ["by its path", "as a folder of the checkout", "package", "shelf", "empty shelf", "module", "lake"]
)
def test_code_in_the_lake_is_refused_before_it_is_imported(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, ours = tmp_path / "lake", tmp_path / "ours"
    inside = evil(lake / "sources" / "wiki" / "raw" / "evil")
    name = "ours"
    monkeypatch.syspath_prepend(str(tmp_path))
    if way == "by its path":
        monkeypatch.syspath_prepend(str(inside.parent))
        name = "evil"
    elif way == "as a folder of the checkout":
        name = "lake.sources.wiki.raw.evil"
    elif way == "package":
        ours.symlink_to(inside)
    elif way == "shelf":
        ours.mkdir()
        (ours / "sources").symlink_to(inside / "sources")
    elif way == "empty shelf":
        ours.mkdir()
        (lake / "nothing").mkdir()
        (ours / "sources").symlink_to(lake / "nothing")
    elif way == "module":
        (ours / "sources").mkdir(parents=True)
        (ours / "sources" / "one.py").symlink_to(inside / "sources" / "one.py")
    else:
        lake.rename(tmp_path / "moved")
        (tmp_path / "lake").symlink_to(tmp_path / "moved")
        name = "moved.sources.wiki.raw.evil"
    with pytest.raises(RecipeError, match=rf"^the package {name} of .* is in the lake: .*Move the package out"):
        check_outside(str(lake), ("gristmill", name))


def test_code_beside_the_lake_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil(tmp_path / "beside" / "ours")
    (tmp_path / "beside" / "lake").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "beside"))
    check_outside(str(tmp_path / "beside" / "lake"), ("gristmill", "ours", "nowhere", "nowhere.at.all"))
    check_outside("s3://bucket/lake", ("ours",))
