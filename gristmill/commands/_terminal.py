"""What all subcommands share: how they write, and what they are told about the lake and the shelves."""

import sys
from argparse import ArgumentParser, Namespace

from gristmill.engines.kinds import ENGINES
from gristmill.engines.open import OpenEngine, open_engine
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.lake.store.open import Lake


def show(line: str = "") -> None:
    """Writes a line, at once: somebody may be waiting for it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def add_lake(parser: ArgumentParser, *, alone: bool = False) -> None:
    """The lake, and how its bucket is reached; secrets come from the environment (AWS_ACCESS_KEY_ID, ...).

    Args:
        parser: of the subcommand.
        alone: whether no other argument follows, so that the lake may be left out.
    """
    words = "a folder, or s3://bucket/prefix; -: GRISTMILL_LAKE"
    if alone:
        parser.add_argument("lake", nargs="?", default="-", help=f"{words} (the default)")
    else:
        parser.add_argument("lake", help=words)
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how the bucket is reached: endpoint=http://localhost:9000 (AWS_ENDPOINT_URL), region=... (AWS_REGION)",
    )


def lake_of(arguments: Namespace) -> Lake:
    """The lake that was named; what is not said of it is the environment's.

    Raises:
        RecipeError: an option is not KEY=VALUE, or a variable has a value that is not valid.
    """
    environment = read_environment()
    options = environment.options
    for option in arguments.option:
        key, equals, value = str(option).partition("=")
        if not key or not equals:
            raise RecipeError(f"--option {option}: write KEY=VALUE")
        options[key] = value
    return Lake(environment.lake if arguments.lake == "-" else str(arguments.lake), options)


def add_shelves(parser: ArgumentParser) -> None:
    """The packages whose shelves hold the recipes."""
    parser.add_argument("--shelves", metavar="PACKAGE,...", help="packages with recipes (ours and GRISTMILL_SHELVES)")


def shelves_of(arguments: Namespace) -> tuple[str, ...]:
    """The packages that were named, or those of the environment.

    Raises:
        RecipeError: no package was named.
    """
    if arguments.shelves is None:
        return read_environment().shelves
    packages = tuple(name.strip() for name in str(arguments.shelves).split(",") if name.strip())
    if not packages:
        raise RecipeError("--shelves: name a package at least")
    return packages


def add_engine(parser: ArgumentParser) -> None:
    """Where shards are ground."""
    parser.add_argument("--engine", choices=ENGINES, help="where shards are ground (GRISTMILL_ENGINE)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes of the local engine (GRISTMILL_WORKERS)")


def engine_of(arguments: Namespace) -> OpenEngine:
    """The engine that was named, or the environment's; its caller closes it.

    Raises:
        RecipeError: there are no workers, or the cluster's address (GRISTMILL_ENGINE_ADDRESS) is missing.
    """
    environment = read_environment()
    workers = environment.workers if arguments.workers is None else int(arguments.workers)
    if workers < 1:
        raise RecipeError(f"--workers {workers}: give a number of processes, 1 or more")
    return open_engine(arguments.engine or environment.engine, workers, environment.address)
