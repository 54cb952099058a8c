"""The digest of a recipe's code: it shows when a function was edited under an unchanged name.

A recipe's options are compared field by field. The functions that it names are not: only their code tells whether
they are the same. The digest covers the syntax trees of the recipe's module, and of the modules that it imports from
its own package, from the folder that holds this package, or from packages that add plug-ins. It does not depend on
comments, docstrings, line breaks or the version of Python.

In the recipe's module only the statements count that its functions can reach. So a new rule or another description
beside them changes nothing.
"""

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from gristmill.errors import RecipeError
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.code import Code, joined
from gristmill.plugins import plugin_modules
from gristmill.recipes.code.imports import import_from_source, seen, stamp_of
from gristmill.recipes.code.options import options_digest
from gristmill.recipes.code.reachable import imported, reachable, without_docstrings

PUBLIC = ("api", "errors", "extras", "lake", "readers", "recipes", "text")
"""The rooms of gristmill that recipes use. Their versions are in the recipes, so they are not part of the digest."""

FUNCTIONS = ("convert", "document", "batch", "open")
"""The fields of recipes that are functions. All other fields are options, which a ledger records by themselves."""

HOME = "gristmill"
_NOT_CODE = frozenset({"ctx", "kind", "type_comment", "type_ignores"})

_declared: dict[int, tuple[object, str]] = {}
"""Each recipe that was read from a shelf, with its module. The recipe is kept, so that no other gets its id."""
_by_package: dict[str, dict[int, tuple[object, str]]] = {}
"""The recipes of each package: two packages may declare one recipe, each in a module of its own."""


class WithCode(Protocol):
    """A recipe with functions, such as a source or a tagger."""

    @property
    def same_output(self) -> bool:
        """Whether its author says that the edited code gives the same output."""

    @property
    def reason(self) -> str:
        """The author's words on why the output is the same."""


def prepare_import(package: str) -> None:
    """Lets the code of a package of shelves, and what is beside it, be imported from source files alone.

    Args:
        package: the package, which is not imported yet. Of gristmill itself nobody edits the code.
    """
    if package.partition(".")[0] != HOME:
        import_from_source(package, _folder(package.partition(".")[0]))


def declare(recipes: Iterable[tuple[object, str]], package: str) -> None:
    """Remembers recipes that were just read from a shelf, and the stamps of the imported files of their package.

    Args:
        recipes: each with the module that declares it.
        package: the package of the shelf.
    """
    declared = {id(recipe): (recipe, module) for recipe, module in recipes}
    _declared.update(declared)
    _by_package.setdefault(package, {}).update(declared)
    top = package.partition(".")[0]
    inside = f"{top}."
    for name, module in list(sys.modules.items()):
        if name == top or name.startswith(inside):  # asked first, because a process has thousands of modules
            file = getattr(module, "__file__", None)
            if file and file not in seen:
                seen[file] = stamp_of(file)


def declare_again(packages: Iterable[str]) -> None:
    """Takes the recipes of packages as if their shelves had just been read.

    Args:
        packages: the packages, which were read before. Of a recipe in several of them, the last one counts.
    """
    for package in packages:
        _declared.update(_by_package.get(package, {}))


def file_of(recipe: object) -> str:
    """The source file that declares a recipe; empty if no shelf does.

    Args:
        recipe: the recipe, as read_shelf() gave it.
    """
    module = _declared.get(id(recipe), (None, ""))[1]
    return str(getattr(sys.modules.get(module), "__file__", None) or "")


def code_of(recipe: WithCode) -> Code:
    """The code of a recipe that a shelf declares. It is unknown for other recipes, and without source files.

    Args:
        recipe: the recipe, as read_shelf() gave it.
    """
    module = _declared.get(id(recipe), (None, ""))[1]
    if not module:
        return Code()
    return _code(recipe, module, FUNCTIONS, options_digest(getattr(recipe, "convert", None)))


def code_of_read(recipe: object) -> Code:
    """The code of a labelled set's `read`, as code_of(). The options of a reader are in the recipe of the set.

    Args:
        recipe: the labelled set, as read_shelf() gave it.
    """
    module = _declared.get(id(recipe), (None, ""))[1]
    return _code(None, module, ("read",), "") if module and getattr(recipe, "read", None) is not None else Code()


def code_of_plugin(kind: type, recipe: WithCode | None = None) -> Code:
    """The code of a class that a plug-in adds. It is unknown for classes that ship, which have versions.

    Args:
        kind: the class.
        recipe: the recipe that uses the class; None: nobody asks for its reason.
    """
    module = kind.__module__
    if module.partition(".")[0] == HOME:
        return Code()
    declare((), module)
    return _code(recipe, module, (), "")


def _code(recipe: WithCode | None, module: str, functions: tuple[str, ...], options: str) -> Code:
    digest, files = _digest(module, functions)
    newer = next((file for file in files if seen.setdefault(file, (now := stamp_of(file))) != now), None)
    if newer is not None:
        return Code(
            module=module,
            problem=f"{newer} was edited after this process had imported it; start the command again, or reload the"
            " code location in Dagster",
        )
    reason = recipe.reason if recipe and recipe.same_output else ""
    return Code(joined(digest, options), module=module, reason=reason, reader=_reader(recipe))


def _reader(recipe: object) -> str:
    """The class of a source's converter, if it is one with options; else empty."""
    convert = getattr(recipe, "convert", None)
    return type(convert).__name__ if is_dataclass(convert) else ""


def check_worker(code: Code, planned: str) -> None:
    """Checks that a worker runs the code of the run that planned its work.

    Args:
        code: the code in this process.
        planned: digest of the code in the planning process; empty: not known.

    Raises:
        RecipeError: it is other code, or its file was edited after this process had imported it.
    """
    if planned and code.problem:
        raise RecipeError(code.problem)
    if planned and code.digest != planned:
        raise RecipeError(f"{code.module}: this worker has other code than the run; update it, or run again")


def check_same_output(who: str, *, same_output: bool, reason: str) -> None:
    """Checks the two fields of a recipe that declare an edit harmless.

    Args:
        who: the recipe, for the message.
        same_output: whether the output is the same.
        reason: why it is the same.

    Raises:
        RecipeError: one of them is given without the other, or is of another type.
    """
    if not isinstance(same_output, bool) or not isinstance(reason, str):
        raise RecipeError(f"{who}: same_output= takes True or False, and reason= a sentence")
    if same_output != bool(reason.strip()):
        raise RecipeError(f"{who}: give same_output=True and reason='why the output is the same' together, or neither")


@cache
def _digest(module: str, functions: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The digest of a module and of what it imports of its own package, and the files. Empty without source files.

    Without `functions` the whole module counts.
    """
    trees: dict[str, Any] = {}
    files: list[str] = []
    todo = [module]
    while todo:
        name = todo.pop()
        file = None if name in trees else _file_of(name)
        if file is None:
            continue
        tree = without_docstrings(ast.parse(Path(file).read_bytes()))
        body = reachable(tree, functions) if name == module else tree.body
        try:
            trees[name] = [_plain(statement) for statement in body]
        except RecursionError:  # a sum of a thousand strings: its text tells as much
            trees[name] = Path(file).read_text(errors="replace")
        files.append(file)
        todo += _own(imported(body, name, is_package=file.endswith("__init__.py")), module.partition(".")[0])
    return digest_of(sorted(trees.items())) if module in trees else "", tuple(sorted(files))


def _own(names: Iterable[str], top: str) -> Iterator[str]:
    """The modules of a package, beside it, or of plug-ins, among these names; with the packages around them.

    The public face of gristmill is left out.
    """
    for name in names:
        parts = name.split(".")
        if parts[0] == top or _is_beside(parts[0], top) or _is_plugin(parts[0]):
            around = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
            yield from (each for each in around if _counts(each))


def _is_beside(other: str, top: str) -> bool:
    return bool(_folder(other)) and _folder(other) == _folder(top)


def _is_plugin(top: str) -> bool:
    """Whether a package adds plug-ins. The installed packages are not looked at for a module of Python or of ours."""
    return top != HOME and top not in sys.stdlib_module_names and top in plugin_modules()


@cache
def _folder(top: str) -> str:
    """The folder that holds a package or module; empty if it has other people's packages too, or is not found."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, AttributeError, ValueError):
        return ""
    places = list(spec.submodule_search_locations or ()) if spec else []
    place = places[0] if places else (spec.origin or "") if spec else ""
    folder = Path(place).parent
    shared = folder.name in {"site-packages", "dist-packages"} or folder == Path(ast.__file__).parent
    return "" if shared or not place else str(folder)


def _counts(name: str) -> bool:
    """Whether a module is no part of gristmill's public face."""
    parts = name.split(".")
    return parts[0] != HOME or (len(parts) > 1 and parts[1] not in PUBLIC)


def _file_of(name: str) -> str | None:
    """The source file of a module; None if there is no such module, or no such file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):  # a name of a module, such as a function
        return None
    origin = spec.origin if spec else None
    return origin if origin and origin.endswith(".py") and Path(origin).is_file() else None


def _plain(value: Any) -> Any:
    """A syntax tree as JSON. Empty fields are left out, for newer versions of Python have more of them."""
    if isinstance(value, ast.Constant):
        return ["Constant", type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = ((name, each) for name, each in ast.iter_fields(value) if name not in _NOT_CODE)
        return [type(value).__name__, {name: _plain(each) for name, each in fields if each not in (None, [])}]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | None) else repr(value)
