"""The digest of a recipe's code: it shows when a function was edited under an unchanged name.

A recipe's options are compared field by field. The functions that it names are not: only their code tells whether
they are the same. The digest covers the syntax trees of the recipe's module, and of the modules that it imports from
its own package, from the folder that holds this package, or from packages that add plug-ins. It does not depend on
comments, docstrings, line breaks or the version of Python.

In the recipe's module only the statements count that its functions can reach, and those that may act on what they use.
So a new rule or another description beside them changes nothing. Earlier versions did not count all statements that
act, nor what the call of a declaration does: their digests are computed too, and compared with what they recorded.
"""

import ast
import os
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gristmill.errors import RecipeError
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.code import Code, join_digests
from gristmill.moved import former_name
from gristmill.plugins import plugin_modules
from gristmill.recipes.code.effects import HOME, Effects
from gristmill.recipes.code.imports import import_from_source
from gristmill.recipes.code.modules import (
    file_of_module,
    module_import_origins,
    own_modules,
    package_parent_folder,
    statements_of_file,
)
from gristmill.recipes.code.options import options_digest
from gristmill.recipes.code.reachable import imported_modules, reachable_statements, unread_imports

FUNCTIONS = ("convert", "document", "batch", "open")
"""The fields of recipes that are functions. All other fields are options, which a ledger records by themselves."""

_FORMULA = 3
"""Makes the digests of this version others than those of earlier ones, which are compared with `Code.former` alone."""
_FORMULA_WITHOUT_CALLS = 2
"""That of earlier versions in which what the call of a declaration does did not count."""

_NOT_CODE = frozenset({"ctx", "kind", "type_comment", "type_ignores"})

_Stamp = tuple[int, int, int]
_seen: dict[str, _Stamp] = {}
"""The stamp of each file of people's own code, from before its import; of one imported by others, from soon after."""
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


def import_package_from_source(package: str) -> None:
    """Lets the code of a package of shelves, of plug-ins, and what is beside them, be imported from source files alone.

    Args:
        package: the package, which is not imported yet. Of gristmill itself nobody edits the code.
    """
    for top in {package.partition(".")[0], *plugin_modules()} - {HOME}:
        import_from_source(top, package_parent_folder(top), _remember_file_stamp)


def _remember_file_stamp(file: str) -> None:
    if file not in _seen:
        _seen[file] = _file_stamp(file)


def _file_stamp(file: str) -> _Stamp:
    """Size in bytes, time of the last write, and time of the last change, which cannot be set by hand."""
    try:
        found = os.stat(file)  # noqa: PTH116 - a string from an import
    except OSError:
        return (-1, -1, -1)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


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
            if file:
                _remember_file_stamp(file)


def redeclare_packages(packages: Iterable[str]) -> None:
    """Takes the recipes of packages as if their shelves had just been read.

    Args:
        packages: the packages, which were read before. Of a recipe in several of them, the last one counts.
    """
    for package in packages:
        _declared.update(_by_package.get(package, {}))


def declaring_file(recipe: object) -> str:
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
    return _code_of_functions(recipe, module, FUNCTIONS, options_digest(getattr(recipe, "convert", None)))


def code_of_read(recipe: object) -> Code:
    """The code of a labelled set's `read`, as code_of(). The options of a reader are in the recipe of the set.

    Args:
        recipe: the labelled set, as read_shelf() gave it.
    """
    module = _declared.get(id(recipe), (None, ""))[1]
    return (
        _code_of_functions(recipe, module, ("read",), "")
        if module and getattr(recipe, "read", None) is not None
        else Code()
    )


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
    return _code_of_functions(recipe, module, (), "")


def _code_of_functions(recipe: object, module: str, functions: tuple[str, ...], options: str) -> Code:
    names = vars(sys.modules[module]).items() if functions and module in sys.modules else ()
    made = _module_digests(module, functions, tuple(sorted(name for name, value in names if value is recipe)))
    newer = next((file for file in made.files if _seen.setdefault(file, (now := _file_stamp(file))) != now), None)
    if newer is not None:
        return Code(
            module=module,
            problem=f"{newer} was edited after this process had imported it; start the command again, or reload the"
            " code location in Dagster",
        )
    reason = getattr(recipe, "reason", "") if getattr(recipe, "same_output", False) else ""
    return Code(
        join_digests(made.digest, options),
        module=module,
        reason=reason,
        reader=_converter_class(recipe),
        former=tuple(join_digests(each, options) for each in made.former),
        wider=made.wider,
    )


def _converter_class(recipe: object) -> str:
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
        reason: reason why the output is the same.

    Raises:
        RecipeError: one of them is given without the other, or is of another type.
    """
    if not isinstance(same_output, bool) or not isinstance(reason, str):
        raise RecipeError(f"{who}: same_output= takes True or False, and reason= a sentence")
    if same_output != bool(reason.strip()):
        raise RecipeError(f"{who}: give same_output=True and reason='why the output is the same' together, or neither")


class _Digests(NamedTuple):
    """The digest of a module, those of earlier versions, whether fewer statements counted then, and the files."""

    digest: str = ""
    former: tuple[str, ...] = ()
    wider: bool = False
    files: tuple[str, ...] = ()


@cache
def _module_digests(module: str, functions: tuple[str, ...], names: tuple[str, ...]) -> _Digests:
    """The digest of a module and of what it imports of its own package. Empty without source files.

    Without `functions` the whole module counts, as ever.
    """
    file = file_of_module(module)
    if file is None:
        return _Digests()
    tree = ast.Module(statements_of_file(file), [])
    package = file.endswith("__init__.py")
    known: dict[str, _Module | None] = {}
    former, files = _imported_syntax_trees(
        module, _Module.of(module, file, reachable_statements(tree, functions)), known
    )
    if not functions:
        return _Digests(digest_of(sorted(former.items())), files=tuple(sorted(files)))
    acting = Effects(tree.body, module_import_origins(module, is_package=package)).may_act_on
    unread = [*imported_modules(unread_imports(tree), module, is_package=package)]

    def counted(*, calls: bool) -> tuple[dict[str, Any], list[str]]:
        now = _Module.of(module, file, reachable_statements(tree, functions, names, acting, calls=calls))
        return _imported_syntax_trees(module, now._replace(imports=[*now.imports, *unread]), known)

    (trees, files), (fewer, _) = counted(calls=True), counted(calls=False)
    before = digest_of(sorted(former.items()))
    plain = [before if each == former else digest_of(sorted(each.items())) for each in (trees, fewer)]
    made, former_2 = (digest_of([*each]) for each in zip((_FORMULA, _FORMULA_WITHOUT_CALLS), plain, strict=True))
    return _Digests(made, (former_2, before), trees != former, tuple(sorted(files)))


class _Module(NamedTuple):
    """The statements of a module that count, as JSON, its file, and the names that they import."""

    plain: Any
    file: str
    imports: list[str]

    @classmethod
    def of(cls, name: str, file: str, body: list[ast.stmt]) -> "_Module":
        """The module with these statements."""
        try:
            plain: Any = [_syntax_tree_as_json(statement) for statement in body]
        except RecursionError:  # a sum of a thousand strings: its text tells as much
            plain = Path(file).read_text(errors="replace")
        return cls(plain, file, [*imported_modules(body, name, is_package=file.endswith("__init__.py"))])


def _imported_syntax_trees(
    module: str, first: _Module, known: dict[str, _Module | None]
) -> tuple[dict[str, Any], list[str]]:
    """The syntax trees of a module and of what it imports of its own package, by name; and the files."""
    trees, files = {module: first.plain}, [first.file]
    todo = [*own_modules(first.imports, module.partition(".")[0])]
    while todo:
        name = todo.pop()
        if name in trees:
            continue
        if name not in known:
            file = file_of_module(name)
            known[name] = None if file is None else _Module.of(name, file, statements_of_file(file))
        if (found := known[name]) is not None:
            trees[name] = found.plain
            files.append(found.file)
            todo += own_modules(found.imports, module.partition(".")[0])
    return trees, files


def _syntax_tree_as_json(value: Any) -> Any:
    """A syntax tree as JSON. Empty fields are left out, for newer versions of Python have more of them."""
    if isinstance(value, ast.Constant):
        return ["Constant", type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = ((name, each) for name, each in ast.iter_fields(value) if name not in _NOT_CODE)
        return [
            type(value).__name__,
            {name: _syntax_tree_as_json(each) for name, each in fields if each not in (None, [])},
        ]
    if isinstance(value, list):
        return [_syntax_tree_as_json(each) for each in value]
    if isinstance(value, str) and "." in value:  # a constant is above: of the names, only those of modules have dots
        return former_name(value)
    return value if isinstance(value, str | int | None) else repr(value)
