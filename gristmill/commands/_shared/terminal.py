"""Shared by all subcommands: output, and the arguments for the lake, the shelves and the engine."""

import sys
from argparse import ArgumentParser, Namespace

from gristmill.engines.kinds import ENGINES, open_engine
from gristmill.environment import Environment, read_environment
from gristmill.errors import RecipeError, escape_controls
from gristmill.execution.work import OpenEngine
from gristmill.lake.store.endpoint import check_options
from gristmill.lake.store.open import Lake
from gristmill.project import find_project
from gristmill.recipes.shelf import check_outside


def print_line(line: str = "") -> None:
    """Writes a line without buffering it, so that a person or a pipe sees progress at once.

    Names and texts of the data may be in it: its control characters are escaped. JSON stays the same JSON.
    """
    sys.stdout.write(escape_controls(line) + "\n")
    sys.stdout.flush()


def print_error(text: str) -> None:
    """Writes an error or a remark, of one or several lines, to the standard error."""
    sys.stderr.write("\n".join(map(escape_controls, text.split("\n"))) + "\n")


def add_lake_arguments(parser: ArgumentParser, *, alone: bool = False) -> None:
    """Adds the lake and the options of its bucket. Secrets come from the environment (AWS_ACCESS_KEY_ID, ...).

    Args:
        parser: parser of the subcommand.
        alone: whether the lake is the only positional argument, so that it may be omitted.
    """
    words = "a folder, or s3://bucket/prefix; - for GRISTMILL_LAKE, or the project's"
    if alone:
        parser.add_argument("lake", nargs="?", default="-", help=f"{words} (the default)")
    else:
        parser.add_argument("lake", help=words)
    add_bucket_options(parser)


def add_bucket_options(parser: ArgumentParser) -> None:
    """Adds the options of the lake's bucket."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="connection to the bucket: endpoint=http://localhost:9000 (AWS_ENDPOINT_URL), region=... (AWS_REGION)",
    )


def lake_of_arguments(arguments: Namespace) -> Lake:
    """The lake of the arguments. Options that are not given come from the environment.

    Raises:
        RecipeError: an option is not KEY=VALUE, is a secret, or the lake is a folder; or a variable has a value that is
            not valid; or the project is in the lake.
    """
    environment = read_environment()
    url = environment.lake if arguments.lake == "-" else str(arguments.lake)
    project = find_project()
    if project:
        project.check_outside(url)
    return Lake(url, bucket_options(arguments, environment, url))


def bucket_options(arguments: Namespace, environment: Environment, lake: str | None = None) -> dict[str, str]:
    """The options of the bucket's client. Those that are not given come from the environment.

    Args:
        arguments: arguments of a command that called add_bucket_options().
        environment: environment of the command.
        lake: folder or address of the lake that they are for; None: any bucket.

    Raises:
        RecipeError: an option is not KEY=VALUE or is a secret, or the lake is a folder.
    """
    options = environment.options
    for option in arguments.option:
        key, equals, value = str(option).partition("=")
        if not key or not equals:
            raise RecipeError("--option takes KEY=VALUE, such as endpoint=http://host:port")
        check_options("--option", {key: value})
        if lake is not None and "://" not in lake:
            raise RecipeError(f"--option {key}: the lake {lake} is a folder, which has no options; leave it out")
        options[key] = value
    return options


def add_shelves_option(parser: ArgumentParser) -> None:
    """Adds the packages whose shelves hold the recipes."""
    parser.add_argument(
        "--shelves", metavar="PACKAGE,...", help="all packages with recipes (GRISTMILL_SHELVES, or the project's)"
    )


def shelf_packages(arguments: Namespace) -> tuple[str, ...]:
    """The packages of the arguments, by default those of the environment.

    Raises:
        RecipeError: no package was named, or one is in the lake.
    """
    if arguments.shelves is None:
        packages = read_environment().named_shelves()
    else:
        packages = tuple(name.strip() for name in str(arguments.shelves).split(",") if name.strip())
    if not packages:
        raise RecipeError("--shelves: name at least one package")
    check_outside(lake_of_arguments(arguments).url, packages)
    return packages


def add_engine_options(parser: ArgumentParser) -> None:
    """Adds the engine, which decides where shards are ground."""
    parser.add_argument(
        "--engine", metavar="NAME", help=f"where shards are ground (GRISTMILL_ENGINE): {', '.join(ENGINES.names)}"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes of the local engine (GRISTMILL_WORKERS)")


def open_engine_of_arguments(arguments: Namespace) -> OpenEngine:
    """Opens the engine of the arguments, by default that of the environment. The caller must close it.

    Returns:
        The open engine.

    Raises:
        RecipeError: the number of workers is wrong, the cluster's address (GRISTMILL_ENGINE_ADDRESS) is missing, or
            nothing that is installed has the engine's name.
    """
    environment = read_environment()
    workers = environment.workers if arguments.workers is None else int(arguments.workers)
    if workers < 1:
        raise RecipeError(f"--workers {workers}: give a number of processes, 1 or more")
    return open_engine(arguments.engine or environment.engine, workers, environment.address)
