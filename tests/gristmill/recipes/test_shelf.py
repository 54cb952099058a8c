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
