"""`init FOLDER`: writes a project of your own: recipes, sample texts, a test, and the settings of Dagster.

The last part of FOLDER becomes the name: `init my-corpus` makes the source my-corpus in the package my_corpus. `init .`
writes into the current folder, which must be empty but for .git and .venv.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gristmill.commands._shared.terminal import print_line
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.recipes.shelf import HOME
from gristmill.templates.new_project import (
    FIRST,
    MOST_SHARDS,
    SHARDS,
    check_folder,
    names_of,
    project_files,
    write_project,
)

HELP = "write a project of your own, which runs at once"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("folder", help="a new or an empty folder, such as mycorpus; . for the current one")
    parser.add_argument("--name", help="of the source and its package (the folder's name)")
    parser.add_argument(
        "--with-starter", action="store_true", help="also the recipes of Gristmill's own demo: stdlib, packages, ..."
    )
    parser.add_argument(
        "--shards",
        type=int,
        default=SHARDS,
        metavar="N",
        help="shards of the source, whatever the number of files; at most 1 GB each (%(default)s)",
    )


def run(arguments: Namespace) -> int:
    """Writes the project, and shows what to do next. Returns 0.

    Raises:
        RecipeError: the name or the folder is wrong, or the folder cannot be written. Nothing was written then.
    """
    folder = Path(arguments.folder).expanduser().absolute()
    folder = folder.resolve() if folder.name in {"", ".."} else folder
    if not 1 <= arguments.shards <= MOST_SHARDS:
        raise RecipeError(f"--shards {arguments.shards}: give 1 to {MOST_SHARDS:,} shards")
    names = names_of(arguments.name or folder.name, folder)
    check_folder(folder, read_environment().lake)
    shelves = [names.package, *([HOME] if arguments.with_starter else [])]
    files = project_files(names, shelves, arguments.shards)
    raw = f"lake/sources/{names.name}/raw/{FIRST}"
    write_project(folder, files, (raw,))
    print_line(f"wrote {len(files)} files to {folder}; recipes are in {names.package}/")
    print_line("next:")
    if folder.resolve() != Path.cwd().resolve():
        print_line(f"  cd {arguments.folder}")
    print_line("  make demo")
    print_line(f"  mkdir -p {raw} && cp -r YOUR-TEXTS/. {raw}/")
    print_line("  gristmill plan")
    print_line("  gristmill make")
    return 0
