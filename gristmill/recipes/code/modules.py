"""A person's own modules: those of a recipe's package, those beside it, and those of packages that add plug-ins."""

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from gristmill.plugins import plugin_modules
from gristmill.recipes.code.effects import HOME, Origins, is_public
from gristmill.recipes.code.reachable import imported_modules, without_docstrings


def own_modules(names: Iterable[str], top: str) -> Iterator[str]:
    """The modules of a package, beside it, or of plug-ins, among these names; with the packages around them.

    The public face of gristmill is left out.

    Args:
        names: absolute names. One may be that of a function in a module.
        top: name of the package.
    """
    for name in names:
        if _is_near(name, top):
            parts = name.split(".")
            around = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
            yield from (each for each in around if _is_outside_public_rooms(each))


def _is_near(name: str, top: str) -> bool:
    """Whether a module is of a package, beside it, or of plug-ins."""
    first = name.partition(".")[0]
    return first == top or _is_beside(first, top) or _is_plugin(first)


def _is_own(name: str, top: str) -> bool:
    return _is_near(name, top) and _is_outside_public_rooms(name)


def _is_beside(other: str, top: str) -> bool:
    return bool(package_parent_folder(other)) and package_parent_folder(other) == package_parent_folder(top)


def _is_plugin(top: str) -> bool:
    """Whether a package adds plug-ins. The installed packages are not looked at for a module of Python or of ours."""
    return top != HOME and top not in sys.stdlib_module_names and top in plugin_modules()


@cache
def package_parent_folder(top: str) -> str:
    """The folder that holds a package or module; empty if it has other people's packages too, or is not found.

    Args:
        top: name of the package or module.
    """
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, AttributeError, ValueError):
        return ""
    places = list(spec.submodule_search_locations or ()) if spec else []
    place = places[0] if places else (spec.origin or "") if spec else ""
    folder = Path(place).parent
    shared = folder.name in {"site-packages", "dist-packages"} or folder == Path(ast.__file__).parent
    return "" if shared or not place else str(folder)


def _is_outside_public_rooms(name: str) -> bool:
    """Whether a module is no part of gristmill's public face."""
    return name != HOME and not is_public(name)


def file_of_module(name: str) -> str | None:
    """The source file of a module; None if there is no such module, or no such file.

    Args:
        name: absolute name of the module.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):  # a name of a module, such as a function
        return None
    origin = spec.origin if spec else None
    return origin if origin and origin.endswith(".py") and Path(origin).is_file() else None


def statements_of_file(file: str) -> list[ast.stmt]:
    """The statements of a source file, without docstrings.

    Args:
        file: path of the file.
    """
    return without_docstrings(ast.parse(Path(file).read_bytes())).body


def module_import_origins(module: str, *, is_package: bool) -> Origins:
    """What tells the own modules that an import runs: all that may share a table with the imported name.

    Args:
        module: the module that has the import.
        is_package: whether it is the `__init__` of a package.

    Returns:
        A function from an import to absolute names of modules.
    """
    top = module.partition(".")[0]

    def origins(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
        for name in imported_modules([statement], module, is_package=is_package):
            if _is_own(name, top):
                yield from _modules_run_by_import(name, top)

    return origins


@cache
def _modules_run_by_import(module: str, top: str) -> frozenset[str]:
    """The modules that count among those that an import of this one runs, with it, without the packages around them."""
    found: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        file = None if name in found else file_of_module(name)
        if file is not None:
            found.add(name)
            names = imported_modules(statements_of_file(file), name, is_package=file.endswith("__init__.py"))
            todo += [each for each in names if _is_own(each, top)]
    return frozenset(found)
