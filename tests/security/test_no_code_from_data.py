"""Nothing that is read is ever executed: no file that we ship has the means."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS = ("gristmill", "resources", "assets", "sensors", "scripts")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "code", "codeop", "pty"}
CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
UNPACKERS = {"extractall", "unpack_archive"}
"""Of archives: members are read in memory."""
BY_NAME = {
    "gristmill/recipes/shelf.py",
    "gristmill/execution/runner.py",
    "gristmill/plugins.py",
    "scripts/mutants.py",
    "gristmill/__init__.py",
    "gristmill/moved.py",
    "gristmill/installation.py",
    "gristmill/peeking/draft.py",
    "gristmill/reading/rows.py",
    "gristmill/trial/drafts.py",
}
"""These import by names: of shelves, of our own stages, of entry points, of a fixed list; then of two modules of
ours, of those of ours that moved, of our own Dagster location, of our own readers, of pandas or polars, and of
our own taggers."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_no_means_to_run_what_it_reads(path: Path) -> None:
    here = str(path.relative_to(ROOT))
    for node in ast.walk(ast.parse(path.read_text())):
        where = f"{here}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & MODULES, where
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in MODULES, where
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            own = isinstance(node.func, ast.Name)
            assert not (own and name in CALLS), f"{where}: {name}()"
            assert name not in UNPACKERS, f"{where}: {name}() unpacks to disk"
            assert name != "import_module" or here in BY_NAME, f"{where}: imports by name"
            assert name != "load" or not _is_yaml(node.func), f"{where}: yaml.load; take safe_load"
            for keyword in node.keywords:
                assert keyword.arg != "shell", f"{where}: a shell"


def _is_yaml(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "yaml"
