import ast
from pathlib import Path

import pytest

from gristmill.recipes.code.modules import file_of_module, module_import_origins, own_modules, statements_of_file


@pytest.fixture
def mill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (
        ("__init__", ""),
        ("_words", '"""W."""\nWORDS = {}'),
        ("_fill", "import re\nfrom . import _words"),
    ):
        file = tmp_path / "ownmill" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "ownmill"


def test_modules_of_the_package_are_own_and_those_of_python_and_of_our_public_face_are_not() -> None:
    names = ["gristmill.taggers.length", "re", "gristmill.text.column", "gristmill"]
    assert list(own_modules(names, "gristmill")) == ["gristmill.taggers", "gristmill.taggers.length"]


def test_an_import_runs_all_own_modules_that_its_module_imports(mill: Path) -> None:
    origins = module_import_origins("ownmill.taggers.fruit", is_package=False)
    [fill, other, ours] = ast.parse("from ownmill._fill import fill\nimport re\nfrom gristmill.text import column").body
    assert isinstance(fill, ast.ImportFrom)
    assert isinstance(other, ast.Import)
    assert isinstance(ours, ast.ImportFrom)
    assert set(origins(fill)) == {"ownmill._fill", "ownmill._words", "ownmill"}  # `from .` names the package
    assert [*origins(other), *origins(ours)] == []
    assert file_of_module("ownmill._fill") == str(mill / "_fill.py")
    assert file_of_module("ownmill._fill.fill") is None
    assert len(statements_of_file(str(mill / "_words.py"))) == 1
