from pathlib import Path

import pytest
from testkit import SHELVES

from gristmill.errors import RecipeError
from gristmill.recipes.shelf import find, read_shelf
from gristmill.recipes.source import Source


def test_a_wrong_name_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"no 'pagse' on this shelf; it has .*notes, .*pages"):
        find("sources", Source, SHELVES, "pagse")


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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import os\n\ndef f(:\n", r"broken\.py, line 3: SyntaxError: invalid syntax"),
        ("\nimport not_installed_anywhere\n", r"broken\.py, line 2: ModuleNotFoundError: No module named 'not_inst"),
        ("ONE = 1\nTWO = ONE / 0\n", r"broken\.py, line 2: ZeroDivisionError: division by zero"),
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
