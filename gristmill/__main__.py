"""The command line: `python -m gristmill <subcommand>`; each module of gristmill/commands is one of them.

A subcommand's module has HELP, `declare(parser)` and `run(arguments)`, which gives the exit code. Exit codes: 0 done,
1 the lake is not as it says, 2 it could not be done (usage, recipes, a lake that does not answer).
"""

import importlib
import pkgutil
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from gristmill import commands
from gristmill.errors import GristmillError


def parser() -> ArgumentParser:
    """The parser of all subcommands."""
    top = ArgumentParser(prog="python -m gristmill", description="Grinds raw text into training tokens.")
    below = top.add_subparsers(required=True, metavar="SUBCOMMAND")
    for name in sorted(module.name for module in pkgutil.iter_modules(commands.__path__)):
        if not name.startswith("_"):
            module = importlib.import_module(f"gristmill.commands.{name}")
            one = below.add_parser(name, help=module.HELP, description=module.__doc__)
            module.declare(one)
            one.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand: its exit code."""
    told = parser().parse_args(arguments)
    try:
        return int(told.run(told))
    except GristmillError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 2


if __name__ == "__main__":
    sys.exit(main())
