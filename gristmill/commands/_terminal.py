"""What all subcommands share: how they write, and what they are told about the lake and the shelves."""

import sys
from argparse import ArgumentParser, Namespace

from gristmill.errors import RecipeError
from gristmill.execution.work import Lake
from gristmill.recipes.shelf import HOME


def show(line: str = "") -> None:
    """Writes a line, at once: somebody may be waiting for it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def add_lake(parser: ArgumentParser) -> None:
    """The lake, and how its bucket is reached; secrets come from the environment (AWS_ACCESS_KEY_ID, ...)."""
    parser.add_argument("lake", help="a folder, or s3://bucket/prefix")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how the bucket is reached, such as endpoint=http://localhost:9000 or region=eu-central-1",
    )


def lake_of(arguments: Namespace) -> Lake:
    """The lake that was named.

    Raises:
        RecipeError: an option is not KEY=VALUE.
    """
    options: dict[str, str] = {}
    for option in arguments.option:
        key, equals, value = str(option).partition("=")
        if not key or not equals:
            raise RecipeError(f"--option {option}: write KEY=VALUE")
        options[key] = value
    return Lake(str(arguments.lake), options)


def add_shelves(parser: ArgumentParser) -> None:
    """The packages whose shelves hold the recipes."""
    parser.add_argument("--shelves", default=HOME, metavar="PACKAGE,...", help="packages with recipes (%(default)s)")


def shelves_of(arguments: Namespace) -> tuple[str, ...]:
    """The packages that were named.

    Raises:
        RecipeError: none was.
    """
    packages = tuple(name.strip() for name in str(arguments.shelves).split(",") if name.strip())
    if not packages:
        raise RecipeError("--shelves: name a package at least")
    return packages
