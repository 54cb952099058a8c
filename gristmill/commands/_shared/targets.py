"""Shared by `make` and `plan`: the lake and the targets on the command line, and the lines that both show."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gristmill.commands._shared.chosen_lake import is_lake_address
from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.terminal import shelf_packages
from gristmill.errors import RecipeError
from gristmill.lake.address import check_snapshot
from gristmill.lake.asset_kinds import LEDGER_TOPS
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.targets import Targets, is_target, read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue


def add_target_arguments(parser: ArgumentParser) -> None:
    """Adds the lake and the targets."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[LAKE] TARGET",
        help="the lake: -, s3://bucket/prefix, or a folder; by default that of the project or GRISTMILL_LAKE. Targets:"
        " a source, a mix, a tokenizer, an attribute set, an export, source/version, mix/tokenizer, mix/export, or the"
        " beginning of an address; by default everything",
    )
    parser.add_argument(
        "--snapshot", action="append", default=[], metavar="KEY", help="only this snapshot; may be repeated"
    )


def add_vanished_option(parser: ArgumentParser) -> None:
    """Adds the option that confirms that raw data were removed on purpose."""
    parser.add_argument(
        "--vanished",
        action="append",
        default=[],
        metavar="SOURCE/SNAPSHOT",
        help="raw data that people removed on purpose: what was made of them goes too; may be repeated",
    )


def read_target_arguments(arguments: Namespace) -> tuple[tuple[str, ...], Catalogue, Targets]:
    """The packages, the recipes and the targets of the arguments; `lake` of the arguments becomes the lake among them.

    A first word that is no path is the lake if the folder of this name is a lake. A target by this name comes before
    any other folder, such as the package of the recipes: that of a project lies where people work.

    Args:
        arguments: arguments with the words and the snapshots.

    Raises:
        RecipeError: a word means nothing or several things, or the first is a lake and a target too; or a recipe is
            not valid.
        DataError: the key of a snapshot is wrong.
    """
    words = list(arguments.words)
    first = words[0] if words else "-"
    arguments.lake = first if is_lake_address(first) else "-"
    shelves = shelf_packages(arguments)
    catalogue = read_catalogue(shelves)
    if not is_path(first):
        target = is_target(catalogue, first)
        if target and arguments.lake == first:
            raise RecipeError(
                f"{first!r} is a lake here, and a target too: write ./{first} for the lake, or - {first} for the"
                " target in the lake of the project"
            )
        if not target and Path(first).is_dir() and arguments.lake == "-":
            _check_may_be_lake(catalogue, first)
            arguments.lake = first
            shelf_packages(arguments)  # none of them is in this folder
    targets = words[1:] if words and (is_path(first) or arguments.lake == first) else words
    return shelves, catalogue, read_targets(catalogue, targets, [check_snapshot(key) for key in arguments.snapshot])


def _check_may_be_lake(catalogue: Catalogue, word: str) -> None:
    """Refuses a folder with other things in it: its name is more likely a misspelt target than a lake.

    Raises:
        RecipeError: it is a Python package, or it has files, but none of a lake's folders.
    """
    folder = Path(word)
    empty = not any(not entry.name.startswith(".") for entry in folder.iterdir())
    package = (folder / "__init__.py").exists()
    if not empty and (package or not any((folder / top).is_dir() for top in LEDGER_TOPS)):
        try:
            read_targets(catalogue, [word])
        except RecipeError as error:
            raise RecipeError(f"{error}. The folder {word} is no lake; write ./{word} if it is to be one") from error


def prospect_line(prospect: Prospect) -> str:
    """The line of a partition: its state, its address, how many shards are ground, removed or kept, and why."""
    partition = f"{prospect.asset} ({prospect.snapshot})" if prospect.snapshot else prospect.asset
    counts = [
        f"{number} {words}"
        for number, words in (
            (prospect.missing, "to grind"),
            (prospect.again, "to look at again"),
            (prospect.gone, "to remove"),
            (prospect.kept if prospect.state == "make" else 0, "to keep"),
        )
        if number
    ]
    reasons = "; ".join(([", ".join(counts)] if counts else []) + list(prospect.why))
    return f"{prospect.state:<9}{partition}{f': {reasons}' if reasons else ''}"
