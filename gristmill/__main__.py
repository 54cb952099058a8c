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


def parser(wanted: str = "") -> ArgumentParser:
    """The parser of the wanted subcommand, or of all if it is none: importing all takes a third of a second."""
    top = ArgumentParser(prog="python -m gristmill", description="Grinds raw text into training tokens.")
    below = top.add_subparsers(required=True, metavar="SUBCOMMAND")
    found = (module.name for module in pkgutil.iter_modules(commands.__path__))
    names = sorted(name for name in found if not name.startswith("_"))
    for name in [wanted] if wanted in names else names:
        module = importlib.import_module(f"gristmill.commands.{name}")
        one = below.add_parser(name, help=module.HELP, description=module.__doc__)
        module.declare(one)
        one.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand: its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    told = parser(given[0] if given else "").parse_args(given)
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
