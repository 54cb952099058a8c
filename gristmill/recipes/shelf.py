"""Shelves: packages in which every module declares one thing, a constant of the shelf's type.

`gristmill` has the shelves that `KINDS` lists. A team keeps its recipes
in its own package, with folders of the same names. Both are read (GRISTMILL_SHELVES, docs/reference/recipes.md).
"""

import ast
import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from gristmill.errors import RecipeError, error_in_words, is_failure, known_names
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import PACKAGED
from gristmill.plugins import plugins_of_kind
from gristmill.recipes.code.digest import declare, import_package_from_source

T = TypeVar("T")

HOME = "gristmill"


def shelf_of_kind(kind: AssetKind) -> str:
    """The name of the shelf of the recipes of a kind that a package adds.

    Args:
        kind: one of PACKAGED.
    """
    return kind.name.replace("-", "_")


_ADDED = tuple(map(shelf_of_kind, PACKAGED))
KINDS = (
    "sources",
    "taggers",
    "mixes",
    "tokenizers",
    "labels",
    "models",
    "dedupes",
    "exports",
    "watched_folders",
    "transforms",
    *_ADDED,
)
"""The folders of a package that are shelves."""


def read_shelf(kind: str, declared: type[T], packages: Sequence[str] = (HOME,)) -> dict[str, T]:
    """All declarations on the shelves of one kind, by name, sorted.

    Args:
        kind: name of the shelf's folder: `sources`, `taggers`, ...
        declared: the type of which every module declares exactly one constant. It has a `name`.
        packages: the packages that have such a folder.

    Raises:
        RecipeError: a module cannot be imported (the message names file and line), or does not declare exactly one.
            Or two have the same name, or two names differ only by - and _.
    """
    recipes: dict[str, T] = {}
    for package in packages:
        declared_by: list[tuple[object, str]] = []
        import_package_from_source(package)
        for module in _shelf_module_names(f"{package}.{kind}", required=package == HOME and kind not in _ADDED):
            recipe = _only_declaration(module, declared)
            name: str = recipe.name  # type: ignore[attr-defined]  # every shelf's type has a name
            twin = next((n for n in recipes if n.replace("-", "_") == name.replace("-", "_")), None)
            if twin is not None:
                raise RecipeError(
                    f"{module}: {name!r} is declared already (as {twin!r}); names on a shelf must differ"
                    " by more than '-' and '_'"
                )
            recipes[name] = recipe
            declared_by.append((recipe, module))
        _check_spelling(package, kind, declared.__name__)
        declare(declared_by, package)
    return dict(sorted(recipes.items()))


def check_outside(lake: str, packages: Sequence[str]) -> None:
    """Refuses shelves in a folder lake, also by links: whoever may write data there could run code. Imports nothing.

    Args:
        lake: root of the lake; a bucket holds no packages.
        packages: names of packages. One that cannot be found is left to `read_shelf`.

    Raises:
        RecipeError: a package, a shelf or a module on it is in the lake.
    """
    if "://" in lake:
        return
    root = Path(lake).resolve()
    for package in packages:
        for path in _shelf_files_and_folders(package):
            if path.resolve().is_relative_to(root):
                raise RecipeError(
                    f"the package {package} of GRISTMILL_SHELVES or --shelves is in the lake: {path}; whoever may write"
                    " data there could run code by it. Move the package out of the lake"
                )


def _shelf_files_and_folders(package: str) -> Iterator[Path]:
    """The folders of a package and of the packages around it; its shelves, and the files on them."""
    top, *inner = package.split(".")
    spec = importlib.util.find_spec(top) if top else None
    if spec is None:
        return
    folders = [Path(each) for each in spec.submodule_search_locations or ([spec.origin] if spec.origin else [])]
    yield from folders
    for name in inner:
        folders = [folder / name for folder in folders]
        yield from folders
    for shelf in (folder / kind for folder in folders for kind in KINDS):
        yield shelf
        if shelf.is_dir():
            yield from shelf.iterdir()


def _shelf_module_names(package: str, *, required: bool) -> list[str]:
    """The names of a shelf's modules, in order, without packages and names with a leading _."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError as error:
        if not f"{package}.".startswith(f"{error.name}."):
            raise _import_error(package, error) from error
        raise RecipeError(
            f"{package}: no such package; name packages that can be imported in GRISTMILL_SHELVES"
        ) from error
    except RecipeError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _import_error(package, error) from error
    if spec is None or spec.submodule_search_locations is None:
        if required:
            raise RecipeError(f"{package}: there is no such shelf in Gristmill")
        return []
    modules = pkgutil.iter_modules(spec.submodule_search_locations, f"{package}.")
    return sorted(m.name for m in modules if not m.ispkg and not m.name.rpartition(".")[2].startswith("_"))


def _check_spelling(package: str, kind: str, declared: str) -> None:
    """Refuses a folder of a package whose name is nearly that of a shelf, and whose modules declare its recipes.

    Nothing would read them, unless a module of the shelf has imported them. Other folders, whatever their names, are
    the package's own.

    Raises:
        RecipeError: there is such a folder; the message names it and the shelf.
    """
    folders = [
        each for each in _shelf_files_and_folders(package) if each.name == package.rpartition(".")[2] and each.is_dir()
    ]
    if package == HOME:
        return
    has_shelf = any((folder / kind).exists() for folder in folders)
    names = {each.name: each for folder in folders for each in folder.iterdir() if each.is_dir()}
    for name in difflib.get_close_matches(kind, names.keys() - set(KINDS), 3, 0.8):
        for file in sorted(names[name].glob("[!_]*.py")):
            if f"{package}.{name}.{file.stem}" not in sys.modules and re.search(
                rf"^[A-Za-z_]\w* *(?::[^=\n]*)?= *{declared}\(", file.read_text(errors="replace"), re.MULTILINE
            ):
                raise RecipeError(
                    f"{package}: {name}/ is no shelf, but {file.name} in it declares a {declared};"
                    f" {'move it' if has_shelf else 'rename the folder'} to {kind}/"
                )


def _only_declaration(module: str, declared: type[T]) -> T:
    """The declaration of a module."""
    try:
        recipes = constants_of_type(importlib.import_module(module), declared)
    except RecipeError as error:
        raise RecipeError(f"{module}: {error}") from error
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _import_error(module, error) from error
    if len(recipes) != 1:
        raise RecipeError(
            f"{module}: a module on this shelf declares exactly one {declared.__name__}, this one {len(recipes)};"
            " put helpers into a module whose name begins with _"
        )
    return recipes[0]


def constants_of_type(module: ModuleType, declared: type[T]) -> list[T]:
    """The constants of a type that a module declares; if it makes none itself, those that it imports.

    So a module may import a recipe and declare another that is made of it.

    Args:
        module: an imported module.
        declared: the type.
    """
    found = {id(value): name for name, value in vars(module).items() if isinstance(value, declared)}
    if len(found) > 1:
        imported = _imported_names(module)
        found = {key: name for key, name in found.items() if name not in imported} or found
    return [vars(module)[name] for name in found.values()]


def _imported_names(module: ModuleType) -> set[str]:
    """The names that the import statements of a module bind; none if its source cannot be read."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return set()
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {each.asname or each.name for node in imports for each in node.names}


def _import_error(module: str, error: BaseException) -> RecipeError:
    """The error for a module that cannot be imported. It names the last file and line of the module's own package.

    An error may be raised inside a library, but a person mends the line of the recipe that called it.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    spec = importlib.util.find_spec(module.partition(".")[0])
    folders = spec.submodule_search_locations or () if spec else ()
    own = [frame for frame in frames if any(Path(frame.filename).is_relative_to(folder) for folder in folders)]
    last = (own or frames)[-1]
    place = f"{last.filename}, line {last.lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}, line {error.lineno}"
    return RecipeError(f"{module} cannot be imported: {place}: {error_in_words(error)}; mend this file")


def find_recipe(kind: str, declared: type[T], packages: Sequence[str], name: str) -> T:
    """One declaration by name.

    Args:
        kind: name of the shelf's folder, as for read_shelf().
        declared: type of the declaration, as for read_shelf().
        packages: packages that have such a folder, as for read_shelf().
        name: its name.

    Raises:
        RecipeError: the name is unknown; the message lists the names, the near ones first. Also see read_shelf.
    """
    recipes = read_shelf(kind, declared, packages)
    if name not in recipes:
        raise RecipeError(f"{kind}: no {name!r} on this shelf; {known_names(name, recipes)}")
    return recipes[name]


_MENDS = {
    "model": "; declare it by a module on the shelf models/, as Model(name=..., file=..., sha256=...)",
    "labelled set": "; declare it by a module on the shelf labels/, as LabelledSet(name=..., ...)",
}
"""How to declare what those who take a ready tagger or a model may not have yet."""

_READY = {"tagger": "taggers", "attribute set": "taggers", "transform": "transforms"}
"""The shelves of recipes that ship or are plug-ins, and are on the shelf of those who import them."""


def known_recipe(what: str, shelf: Mapping[str, T], name: str, who: str) -> T:
    """The recipe of this name.

    Args:
        what: its kind, for the message.
        shelf: all recipes of this kind.
        name: its name.
        who: the recipe that names it, for the message.

    Raises:
        RecipeError: the name is unknown; the message lists the names, the near ones first.
    """
    if name not in shelf:
        mend = _MENDS.get(what) or _shelf_hint(what, name)
        raise RecipeError(f"{who} names the {what} {name!r}, which is on no shelf; {known_names(name, shelf)}{mend}")
    return shelf[name]


def _shelf_hint(what: str, name: str) -> str:
    """How to put a tagger or transform that ships or is a plug-in on one's own shelf; empty if none has this name."""
    for plugin in plugins_of_kind(_READY.get(what, "")):
        if plugin.name == name:
            module, _, constant = plugin.value.partition(":")
            line = f"from {module} import {constant}"
            return f"; it is installed: a module of your shelf {plugin.kind}/ that says `{line}` has it"
    return ""
