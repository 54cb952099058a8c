"""`acquire LAKE`: copies real input into a lake, for sources that work on every machine."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from gristmill.acquisition.real_input import INSTALLED, Acquired, acquire_installed, acquire_packages, acquire_stdlib
from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, print_line
from gristmill.errors import RecipeError
from gristmill.installation import top_level
from gristmill.lake.address import blocklist_path
from gristmill.lake.store.protocol import Store

HELP = "put the standard library, published packages or installed distributions into a lake as raw snapshots"
KINDS = ("stdlib", "packages", INSTALLED)
TAKEDOWNS = blocklist_path("takedowns")
EXAMPLE = b'{"source":"stdlib","id":"this.py","reason":"example of a takedown request"}\n'


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"{', '.join(KINDS)} (stdlib packages)")
    parser.add_argument("--cache", type=Path, default=Path(".cache/packages"), help="folder of wheels (%(default)s)")
    parser.add_argument(
        "--requirements", type=Path, default=lock_files_folder(), help="folder of lock files (%(default)s)"
    )


def lock_files_folder() -> Path:
    """The folder of lock files, in this checkout or in the installed package."""
    return top_level() / "requirements"


def run(arguments: Namespace) -> int:
    """Acquires input, and shows how many objects were written and kept. Returns 2 if some input is not available.

    Raises:
        RecipeError: the argument is unknown, or a lock file is wrong.
        StoreError: the lake does not answer.
    """
    names = arguments.what or ["stdlib", "packages"]
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise RecipeError(f"{unknown[0]!r} cannot be acquired; choose from {', '.join(KINDS)}")
    store = lake_without_targets(arguments).store()
    trouble = False
    for acquired in _acquire_named(store, names, arguments.cache, arguments.requirements):
        print_line(str(acquired))
        trouble |= bool(acquired.trouble)
    if store.head(TAKEDOWNS) is None:
        store.put(TAKEDOWNS, EXAMPLE)
        print_line(f"{TAKEDOWNS}: written, with an example entry")
    else:
        print_line(f"{TAKEDOWNS}: kept as it is")
    return 2 if trouble else 0


def _acquire_named(store: Store, names: list[str], cache: Path, requirements: Path) -> Iterator[Acquired]:
    def have(path: str) -> int | None:
        entry = store.head(path)
        return entry.size if entry else None

    if "stdlib" in names:
        yield acquire_stdlib(store.put, have, print_line)
    if "packages" in names:
        editions = sorted(requirements.glob("packages-*.txt"))
        if not editions:
            raise RecipeError(f"{requirements}: there is no packages-<snapshot>.txt")
        for edition in editions:
            yield acquire_packages(store.put, have, print_line, cache=cache, requirements=edition)
    if INSTALLED in names:
        yield acquire_installed(store.put, have, print_line)
