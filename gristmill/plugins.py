"""Plug-ins: what installed packages add to Gristmill by entry points. What ships goes through the same doors."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

from gristmill.errors import RecipeError, error_in_words, is_failure, known_names
from gristmill.shipped import SHIPPED

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

T = TypeVar("T")

HOME = "gristmill"
KINDS = ("readers", "taggers", "transforms", "exports", "engines", "checks", "commands", "asset_kinds")
"""What packages may add. The group of their entry points is `gristmill.readers`, and so on."""


class Command(Protocol):
    """A subcommand of the command line: a module, or another object, with these members.

    Attributes:
        HELP: one line about it.
    """

    HELP: str

    def declare(self, parser: "ArgumentParser") -> None:
        """Adds its arguments to a parser."""

    def run(self, arguments: "Namespace") -> int:
        """Runs it. Returns the exit code: see gristmill/command_line.py.

        Args:
            arguments: the parsed arguments.

        Raises:
            GristmillError: it failed; the message is shown, and the exit code is 2.
        """


class Plugin(NamedTuple):
    """An entry point of a package.

    Attributes:
        kind: kind of thing that it adds, such as `exports`. The group of its entry points is `gristmill.exports`.
        name: its name among those of its kind.
        value: its place: a module, or `module:object`.
        package: name of the package.
        version: version of the package; empty for Gristmill itself.
    """

    kind: str
    name: str
    value: str
    package: str = HOME
    version: str = ""

    def __str__(self) -> str:
        package = f"{self.package} {self.version}".rstrip()
        return f"the plug-in {self.name!r} (gristmill.{self.kind}) of the package {package}"

    def module(self) -> Any:
        """The module that it is in.

        Raises:
            RecipeError: it cannot be imported; the message names file and line.
        """
        try:
            return import_module(self.value.partition(":")[0])
        except BaseException as error:
            if not is_failure(error):
                raise
            frames = [each for each in extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
            where = f"{frames[-1].filename}, line {frames[-1].lineno}"
            raise RecipeError(
                f"{self} cannot be loaded: {where}: {error_in_words(error)}; mend or uninstall it"
            ) from error


@dataclass(frozen=True)
class Door(Generic[T]):
    """What packages may add of one kind.

    Attributes:
        kind: the kind, such as `exports`.
        wanted: description of what an entry point must name, for messages.
        fits: whether an object is such a thing. It gets the name of the entry point, and the object.
    """

    kind: str
    wanted: str
    fits: Callable[[str, Any], bool]

    @property
    def plugins(self) -> list[Plugin]:
        """The plug-ins of this kind, sorted by name: shipped ones, and those of packages. Nothing is imported."""
        return plugins_of_kind(self.kind)

    @property
    def names(self) -> list[str]:
        """The names of what there is, sorted."""
        return sorted({each.name for each in self.plugins})

    def load(self, name: str) -> T:
        """The object of this name.

        Args:
            name: name of the plug-in.

        Raises:
            RecipeError: no package adds the name, several packages do, or it cannot be imported or does not fit.
        """
        shipped = SHIPPED.get(self.kind, {}).get(name)
        found = [Plugin(self.kind, name, shipped)] if shipped else [each for each in self.plugins if each.name == name]
        if not found:
            known = known_names(name, self.names)
            raise RecipeError(
                f"no installed package adds {name!r} to gristmill.{self.kind}; {known}; `gristmill plugins` lists all"
            )
        return self.open(found[0])

    def open(self, plugin: Plugin) -> T:
        """The object that a plug-in names.

        Args:
            plugin: one of `plugins`.

        Raises:
            RecipeError: another package adds its name too, or it cannot be imported or does not fit.
        """
        if plugin.package != HOME:
            twins = [each.package for each in self.plugins if each.name == plugin.name and each != plugin]
            if twins:
                raise RecipeError(f"{plugin}: the package {twins[0]} has this name too; uninstall one of them")
        names = plugin.value.partition(":")[2].split(".")
        found = reduce(lambda each, name: getattr(each, name, None), filter(None, names), plugin.module())
        if not self.fits(plugin.name, found):
            raise RecipeError(f"{plugin}: {plugin.value} is not {self.wanted}; mend or uninstall it")
        return cast("T", found)


def _is_command(_: str, found: Any) -> bool:
    functions = (getattr(found, name, None) for name in ("declare", "run"))
    return isinstance(getattr(found, "HELP", None), str) and all(map(callable, functions))


COMMANDS = Door[Command]("commands", "a module with HELP, declare(parser) and run(arguments)", _is_command)
"""The subcommands of the command line."""


@cache
def _installed_entry_points() -> tuple[Plugin, ...]:
    """The entry points of installed packages. They are looked for once a process.

    The files are read first: Python's own look takes as long as all else that `gristmill --help` does.
    """
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    if not any(map(_may_have_our_plugins, files)):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415 - see above

    return tuple(
        Plugin(kind, each.name, each.value, each.dist.name, each.dist.version)
        for kind in KINDS
        for each in entry_points(group=f"{HOME}.{kind}")
        if each.dist
    )


def _may_have_our_plugins(file: Path) -> bool:
    """Whether the entry points of a package may be ours. A file that nobody may read belongs to no package in use."""
    try:
        return f"[{HOME}." in file.read_text(errors="replace")
    except OSError:
        return False


def plugins_of_kind(kind: str) -> list[Plugin]:
    """The plug-ins of one kind, sorted by name: shipped ones, and those of installed packages. Nothing is imported.

    >>> next(each.value for each in plugins_of_kind("transforms") if each.name == "whitespace-1")
    'gristmill.transforms.whitespace:WHITESPACE'
    """
    shipped = [Plugin(kind, name, value) for name, value in SHIPPED.get(kind, {}).items()]
    return sorted((*shipped, *(each for each in _installed_entry_points() if each.kind == kind)))


def forget_installed_plugins() -> None:
    """Forgets what is installed, so that packages are found that came meanwhile."""
    _installed_entry_points.cache_clear()


def plugin_modules() -> set[str]:
    """The names of the modules and packages, at the top level, that hold plug-ins of installed packages."""
    return {re.split(r"[.:]", each.value)[0] for each in _installed_entry_points()}
