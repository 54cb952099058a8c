"""The recipes of the kinds of assets that installed packages add: rows that are made from shards of documents.

The class of such a kind names the class of its recipes. They stand on a shelf that has the name of the kind.
Provisional: may change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.address import check_numbered
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import PACKAGED
from gristmill.plugins import Door
from gristmill.recipes.code.digest import check_same_output
from gristmill.recipes.option_types import check_types
from gristmill.recipes.shelf import read_shelf, shelf_of_kind
from gristmill.recipes.source_versions import check_sources, versions_by_source


@dataclass(frozen=True, kw_only=True)
class RowsRecipe:
    """A recipe of rows. A package's class below it is a frozen dataclass, and adds options.

    Attributes:
        name: ends in a number (`lengths-1`). If the meaning changes, take the next number.
        sources: the sources whose documents are read, each as `<source>/<version>`.
        description: words for people.
        draft: whether the recipe may change under its name.
        same_output: whether an edit of the code of its kind gives the same output, so that nothing is made again. Give
            a `reason`.
        reason: words on why the output is the same. Another edit takes another reason.
    """

    name: str
    sources: Sequence[str]
    description: str = ""
    draft: bool = False
    same_output: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: an option is of another type, the name has no number, or the sources are not each named once.
        """
        what = f"{type(self).__name__} {self.name!r}"
        check_types(self, what)
        check_numbered(self.name, type(self).__name__)
        check_sources(self.sources, what)
        check_same_output(what, same_output=self.same_output, reason=self.reason)

    @property
    def versions(self) -> Mapping[str, str]:
        """The version that is read of each source, by its name, in the declared order."""
        return versions_by_source(self.sources)

    @property
    def options(self) -> dict[str, Any]:
        """The options that its class adds, by name. They are in the ledger of what it makes."""
        ours = {each.name for each in fields(RowsRecipe)}
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ours}


def recipe_type(found: Any) -> type[RowsRecipe] | None:
    """The class of the recipes of a kind.

    Args:
        found: object that the entry point of the kind names.

    Returns:
        The class; None: it names none.
    """
    declared = getattr(found, "recipe", None)
    return declared if isinstance(declared, type) and issubclass(declared, RowsRecipe) else None


_KINDS = Door[Any](
    "asset_kinds", "a class whose `recipe` is a class below RowsRecipe", lambda _, it: bool(recipe_type(it))
)


def recipe_class_of_kind(kind: AssetKind) -> type[RowsRecipe]:
    """The class of the recipes of a kind that a package adds.

    Args:
        kind: one of PACKAGED.

    Raises:
        RecipeError: the kind cannot be loaded.
    """
    return recipe_type(_KINDS.load(kind.name)) or RowsRecipe


def read_rows_recipes(packages: Sequence[str]) -> dict[str, dict[str, RowsRecipe]]:
    """The recipes of the kinds that installed packages add. A kind that cannot be loaded has none.

    Args:
        packages: packages that have shelves.

    Returns:
        The recipes by kind and name.

    Raises:
        RecipeError: see read_shelf.
    """
    found: dict[str, dict[str, RowsRecipe]] = {}
    for kind in PACKAGED:
        if not _recipe_class_problem(kind):
            found[kind.name] = read_shelf(shelf_of_kind(kind), recipe_class_of_kind(kind), packages)
    return found


def rows_problems() -> list[str]:
    """The reasons why kinds of installed packages cannot be loaded: one line each, for people."""
    problems = {kind: _recipe_class_problem(kind) for kind in PACKAGED}
    return [f"{why}; until then, nothing below {kind.top_folder} is made" for kind, why in problems.items() if why]


def _recipe_class_problem(kind: AssetKind) -> str:
    try:
        recipe_class_of_kind(kind)
    except RecipeError as error:
        return str(error)
    return ""
