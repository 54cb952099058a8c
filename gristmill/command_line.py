"""The subcommands of the command line: each public module of gristmill/commands, those of wings, and of plug-ins.

Such a module has HELP, `declare(parser)` and `run(arguments)`, which returns the exit code: see Command. Exit codes: 0
for success, 1 if the lake differs from its ledgers or recipes, or lacks the document or the release that was asked for,
2 for an error (usage, recipes, a lake that does not answer).
"""

import ast
import pkgutil
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from traceback import extract_tb
from typing import TYPE_CHECKING, NoReturn

from gristmill.errors import (
    GristmillError,
    RecipeError,
    Unknown,
    error_in_words,
    escape_controls,
    in_our_code,
    is_failure,
    package_of,
)
from gristmill.plugins import COMMANDS, HOME
from gristmill.project import find_project

if TYPE_CHECKING:
    from argparse import _SubParsersAction


class _AnyOrder(ArgumentParser):
    """A parser that takes options between words too, as in `make lake --snapshot 2024 wiki`."""

    _again = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as there
        """Parses the options, then the words. Python's own method does so with two calls of this one."""
        if self._again or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._again = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._again = False


class _Version(Action):
    """Prints the version, and the commit of a checkout."""

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        from gristmill.installation import VERSION, code_version  # noqa: PLC0415 - `--help` needs neither

        commit = code_version()
        sys.stdout.write(f"gristmill {VERSION}" + ("\n" if VERSION in commit else f" ({commit})\n"))
        parser.exit()


def command_parser(subcommand: str = "") -> ArgumentParser:
    """The parser of one subcommand; of all subcommands if none has this name. Importing all takes half a second.

    Raises:
        RecipeError: a plug-in adds the subcommand, and cannot be loaded. Among all, it is left out.
    """
    top, below = _top_level_parser()
    for name in [subcommand] if subcommand in COMMANDS.names else COMMANDS.names:
        with nullcontext() if name == subcommand else suppress(RecipeError):
            module = COMMANDS.load(name)
            one = below.add_parser(name, help=module.HELP, description=getattr(module, "__doc__", None))
            module.declare(one)
            one.set_defaults(run=module.run)
    return top


def overview_parser() -> ArgumentParser:
    """The parser that lists all subcommands and knows the options of none. It imports no subcommand."""
    top, below = _top_level_parser()
    for plugin in {each.name: each for each in COMMANDS.plugins}.values():
        line = f"of the package {plugin.package} {plugin.version}"
        if plugin.package == HOME:
            package, _, module = plugin.value.rpartition(".")
            source = pkgutil.get_data(package, f"{module}.py") or b""
            assigned = (node for node in ast.parse(source).body if isinstance(node, ast.Assign))
            (value,) = (node.value for node in assigned if ast.unparse(node.targets[0]) == "HELP")
            line = ast.literal_eval(value)
        below.add_parser(plugin.name, help=line)
    return top


def _top_level_parser() -> tuple[ArgumentParser, "_SubParsersAction[_AnyOrder]"]:
    top = _AnyOrder(prog="python -m gristmill", description="Grinds raw text into training tokens.")
    top.add_argument("--version", action=_Version, nargs=0, help="the version, and the commit of a checkout")
    return top, top.add_subparsers(required=True, metavar="SUBCOMMAND")


def run(given: Sequence[str]) -> int:
    """Runs one subcommand. Returns its exit code.

    Args:
        given: the words behind the name of the program.
    """
    try:
        known = any(word in COMMANDS.names for word in given)
        parsed = (command_parser(given[0]) if known else overview_parser()).parse_args(given)
        project = find_project()
        if project:
            project.put_on_path()
        return _code_of(parsed)
    except Exception as error:
        if not is_failure(error):
            raise
        return _report_error(error)


def _code_of(parsed: Namespace) -> int:
    """Runs what was parsed. Returns its exit code; the command of a package may also leave by sys.exit().

    Raises:
        RecipeError: code of a package ended the process, so the command is not done.
    """
    try:
        return int(parsed.run(parsed))
    except SystemExit as error:
        if not package_of(parsed.run).startswith("gristmill."):
            raise
        last = extract_tb(error.__traceback__)[-1]
        words = f"{last.filename}, line {last.lineno}: {error_in_words(error)}"
        raise RecipeError(f"the command is not done: {words}; mend or uninstall that code") from error


def _report_error(error: Exception) -> int:
    """Tells people what failed, and returns the exit code."""
    if isinstance(error, GristmillError):
        sys.stderr.write("\n".join(map(escape_controls, str(error).split("\n"))) + "\n")
        return 1 if isinstance(error, Unknown) else 2
    if isinstance(error, BrokenPipeError):  # the reader of the output, such as `head`, has closed it
        sys.stderr.close()
        return 2
    if sys.flags.dev_mode:  # damage that no reader has words for, or a bug: a trace tells people nothing
        raise error
    sys.stderr.write(f"{escape_controls(error_in_words(error))}, at {in_our_code(error)}: {_UNFORESEEN}\n")
    return 2


_UNFORESEEN = (
    "damage, or a bug. `gristmill verify LAKE --all` names what is damaged in a lake; if it finds nothing, report this"
    " line (`python -X dev -m gristmill` shows the trace)"
)
