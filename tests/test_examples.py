"""Docstrings of the modules that people read and import: their examples compute, their sections are complete.

The rules for a public function, method or class of a package in DOCUMENTED:

* it has a docstring (a method may leave it to the protocol that it implements);
* two or more parameters (of a class: of its constructor) need `Args:` or `Attributes:`;
* the class of every error that its own body raises is named.

Ruff checks that an `Args:` section names all parameters. `test_docstrings.py` asks for results, in all packages.
"""

import ast
import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).resolve().parent.parent
COMPUTING = ("formats", "text", "reports", "lake/rows", "readers", "recipes", "encoding", "stages/packing")
"""Packages with pure functions: each shows examples."""

DOCUMENTED = (
    "formats", "text", "reports", "lake/rows", "lake/store", "raw_data", "engines", "readers", "recipes",
    "encoding", "stages/tokenization", "stages/packing",
)  # fmt: skip
"""Packages whose docstrings are complete: a package is added when its docstrings are written."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def modules(packages: tuple[str, ...]) -> list[Path]:
    return sorted(
        path for name in packages for path in (ROOT / "gristmill" / name).rglob("*.py") if path.name != "__init__.py"
    )


def with_examples(paths: list[Path]) -> list[Path]:
    return [path for path in paths if ">>> " in path.read_text()]


def public(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Public functions, classes and methods of a module, with their full names."""
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield f"{inside}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{node.name}.")


def parameters(function: Function) -> list[str]:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in {"self", "cls"} and not name.startswith("_")]


def raised(function: Function) -> set[str]:
    """The classes of errors that a function's own body raises; the bodies of functions inside it do not count."""
    names: set[str] = set()
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            names.add(node.exc.func.id)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return {name for name in names if name[0].isupper()}


def faults_of_function(function: Function, docstring: str) -> Iterator[str]:
    if len(parameters(function)) > 1 and "Args:" not in docstring:
        yield "it has two or more parameters, but no Args:"
    for name in sorted(raised(function)):
        if name not in docstring:
            yield f"it raises {name}, which Raises: does not name"


def faults_of_class(node: ast.ClassDef, docstring: str) -> Iterator[str]:
    made = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if made is not None:
        docstring += ast.get_docstring(made) or ""
        takes = parameters(made)
        for name in sorted(raised(made)):
            if name not in docstring:
                yield f"its constructor raises {name}, which Raises: does not name"
    else:
        fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
        takes = [each.id for each in fields if isinstance(each, ast.Name) and not each.id.startswith("_")]
    described = "Args:" in docstring or "Attributes:" in docstring or all(f"`{name}`" in docstring for name in takes)
    if len(takes) > 1 and not described:
        yield "it has two or more parameters or fields, but neither Args: nor Attributes: (nor names of all in ``)"


def faults(source: str) -> list[str]:
    """The public names of a module whose docstrings are not complete, and why."""
    result: list[str] = []
    for name, node in public(ast.parse(source)):
        docstring = ast.get_docstring(node)
        if docstring is None:
            result += [] if "." in name else [f"{name}: it has no docstring"]
        elif isinstance(node, ast.ClassDef):
            result += [f"{name}: {fault}" for fault in faults_of_class(node, docstring)]
        else:
            result += [f"{name}: {fault}" for fault in faults_of_function(node, docstring)]
    return result


@pytest.mark.parametrize("path", with_examples(modules((".",))), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_a_module_compute_what_they_show(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("package", [name for name in COMPUTING if name in DOCUMENTED])
def test_a_documented_package_has_examples(package: str) -> None:
    assert with_examples(modules((package,)))


@pytest.mark.parametrize("path", modules(DOCUMENTED), ids=lambda path: str(path.relative_to(ROOT)))
def test_public_docstrings_are_complete(path: Path) -> None:
    found = faults(path.read_text())
    assert not found, "\n".join(found)


INCOMPLETE = """
def bare(): ...
def two(a, b): "Does it."
def fails(): "Does it."; raise KeyError("no")
class Pair: "Two things."; a: int; b: int
class Made:
    "A thing."
    def __init__(self, a, b): raise ValueError("no")
    def join(self, a, b): "Joins them."
"""

COMPLETE = """
def two(a, b):
    '''Does it. Args: ...'''
def fails():
    '''Does it. Raises: KeyError: always.'''
    raise KeyError("no")
def delays():
    '''Whether it can wait.'''
    def inner(): raise ValueError("no")
class Pair:
    '''`a` and `b`.'''
    a: int
    b: int
    def join(self, a, b): ...
def _private(a, b): ...
"""


def test_incomplete_docstrings_are_found() -> None:
    assert [fault.split(",")[0] for fault in faults(INCOMPLETE)] == [
        "bare: it has no docstring",
        "two: it has two or more parameters",
        "fails: it raises KeyError",
        "Pair: it has two or more parameters or fields",
        "Made: its constructor raises ValueError",
        "Made: it has two or more parameters or fields",
        "Made.join: it has two or more parameters",
    ]
    assert not faults(COMPLETE)
