"""`report [LAKE] SOURCE/VERSION SET`: writes one HTML page with the distribution of each label of an attribute set.
`report [LAKE] dedupe/NAME`: writes one about the resolution of a dedupe recipe.

Columns and examples that the lake lacks are made first; only shards that have changed are read.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.output_file import write_output_file
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.asset_kinds import DOCUMENTS, RESOLUTION, names_in_asset_address
from gristmill.reading.partitions import address_from_fields, known_snapshots, open_partition
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import read_shelf
from gristmill.scores.described import describe_set
from gristmill.scores.examples import read_examples, write_examples
from gristmill.scores.label_kinds import declared_kinds, declared_meanings
from gristmill.scores.page import score_page
from gristmill.stages.dedupe.resolution import read_resolution
from gristmill.stages.dedupe.resolution_report import resolution_report

HELP = "write an HTML page about an attribute set: histograms, quantiles, examples at the extremes; or about duplicates"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] SOURCE/VERSION SET",
        help="the documents and the set, as in wiki/v1 gopher-1; or dedupe/NAME; before them the lake: -,"
        " s3://bucket/prefix, or a folder; by default that of the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--snapshot", help="by default the last one that is finished")
    parser.add_argument(
        "--output", metavar="FILE", help="by default SET-SNAPSHOT.html or NAME.html in the current folder"
    )
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Writes the page, and shows its name. Returns 0.

    Raises:
        RecipeError: there is no such set or recipe.
        DataError: no snapshot is finished, or a row is wrong.
        StoreError: the lake does not answer.
    """
    words = list(arguments.words)
    dedupe = words[-1].removeprefix(RESOLUTION.top_folder) if words[-1].startswith(RESOLUTION.top_folder) else ""
    if dedupe and len(words) <= 2:
        arguments.lake = words[0] if len(words) == 2 else "-"
        return _write_duplicates_page(arguments, (names_in_asset_address(words[-1]) or {"dedupe": dedupe})["dedupe"])
    if len(words) not in {2, 3} or is_path(words[-1]):
        raise RecipeError(
            f"{' '.join(words)}: name documents and a set, as in wiki/v1 gopher-1, after the lake or alone"
        )
    arguments.lake = words.pop(0) if len(words) == 3 else "-"
    lake = lake_of_arguments(arguments)
    store = lake.store()
    names = names_in_asset_address(address_from_fields(words[0], DOCUMENTS, "wiki/v1"))
    asset = attributes_asset(names["source"], names["version"], words[1])
    there = known_snapshots(store, asset)
    finished = [key for key in there if store.head(place(asset, key).ledger)]
    snapshot = arguments.snapshot or (finished[-1] if finished else "")
    if snapshot not in finished:
        raise DataError(
            f"{asset}: snapshot {snapshot or '(any)'} is not finished; finished: {', '.join(finished) or 'none'}"
        )
    partition = open_partition(store, place(asset, snapshot))
    shards = [partition.shards[name] for name in sorted(partition.shards)]
    kinds = declared_kinds(shelf_packages(arguments), words[1], lake.url)
    described = describe_set(store, partition.place, shards, kinds)
    examples = read_examples(store, partition.place, shards)
    if examples is None:
        examples = write_examples(store, described, shards)
    output = arguments.output or f"{words[1]}-{snapshot}.html"
    names_shown = (label.name for label in described.labels)
    meanings = declared_meanings(shelf_packages(arguments), words[1], lake.url, names_shown)
    with write_output_file(output, lake.url) as path:
        path.write_text(score_page(described, examples, meanings), encoding="utf-8")
    print_line(
        f"{output}: {len(described.labels)} labels of {described.rows:,} rows; {described.read} shards were read"
    )
    return 0


def _write_duplicates_page(arguments: Namespace, name: str) -> int:
    """Writes the page about a resolution."""
    if arguments.snapshot:
        raise RecipeError("--snapshot: a resolution is about all snapshots; leave it out")
    lake = lake_of_arguments(arguments)
    recipes = read_shelf("dedupes", Dedupe, shelf_packages(arguments))
    if name not in recipes:
        raise RecipeError(f"no dedupe recipe {name!r}; there are: {', '.join(sorted(recipes)) or 'none'}")
    store = lake.store()
    resolution = read_resolution(store, name)
    if resolution is None:
        raise DataError(f"{RESOLUTION.at(dedupe=name)}: not made yet; run gristmill make {name} first")
    page = resolution_report(store, recipes[name], resolution)
    output = arguments.output or f"{name}.html"
    with write_output_file(output, lake.url) as path:
        path.write_text(page, encoding="utf-8")
    print_line(f"{output}: {len(resolution.snapshots)} snapshots, {len(resolution.largest)} largest clusters")
    return 0
