"""`tally WORD...`: counts words."""

import sys
from argparse import ArgumentParser, Namespace

from gristmill.errors import DataError

HELP = "count words"


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*")


def run(arguments: Namespace) -> int:
    if not arguments.words:
        raise DataError("no words")
    sys.stdout.write(f"{len(arguments.words)}\n")
    return 0
