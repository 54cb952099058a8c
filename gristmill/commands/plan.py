"""`plan LAKE`: what would be rebuilt, and why, from the ledgers alone; claims nothing and changes nothing."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

import msgspec

from gristmill.commands._terminal import add_lake, add_shelves, lake_of, shelves_of, show
from gristmill.errors import RecipeError
from gristmill.lake.address import check_snapshot
from gristmill.lake.asset_kinds import names_of
from gristmill.pipeline.dry_run import DryRun, Prospect
from gristmill.pipeline.steps import all_snapshots
from gristmill.recipes.catalogue import Catalogue, known, read_catalogue
from gristmill.recipes.source import Source

HELP = "say what would be rebuilt, and why; 1 if there is anything"


def declare(parser: ArgumentParser) -> None:
    """The arguments."""
    add_lake(parser, alone=True)
    parser.add_argument("--source", help="only what is made of this source")
    parser.add_argument("--snapshot", help="only this snapshot")
    parser.add_argument("--mix", help="only the slices and token caches of this mix")
    parser.add_argument("--all", action="store_true", help="list the finished partitions too")
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Looks, and says so a line a partition; 1 if not all of them are finished.

    Raises:
        RecipeError: there is no such source or mix on the shelves, or nothing of theirs in the lake.
        DataError: that is no snapshot's key.
        StoreError: the lake does not answer, or a partition is being published just now: try again.
    """
    shelves = shelves_of(arguments)
    counted: Counter[str] = Counter()
    for found in _prospects(arguments, read_catalogue(shelves), shelves):
        counted[found.state] += 1
        if arguments.json:
            show(msgspec.json.encode(found).decode())
        elif arguments.all or found.state != "finished":
            show(_line(found))
    if not counted:
        raise RecipeError(f"{arguments.lake}: neither raw data nor ledgers of these sources; name other --shelves?")
    if not arguments.json:
        total = sum(counted.values())
        show(f"{total} partitions: {', '.join(f'{n} {s}' for s, n in counted.items()) or 'none'}")
    return 0 if set(counted) <= {"finished"} else 1


def _prospects(arguments: Namespace, catalogue: Catalogue, shelves: tuple[str, ...]) -> Iterator[Prospect]:
    """What was asked for; what lies above it is looked at too."""
    lake = lake_of(arguments)
    dry = DryRun(catalogue, shelves, lake)
    if arguments.mix:
        known("mix", catalogue.mixes, arguments.mix, "--mix")
    some = arguments.mix or arguments.source or arguments.snapshot
    yield from (found for found in dry.tokenizers() if not some)
    for source in _sources(arguments, catalogue):
        snapshots = [check_snapshot(arguments.snapshot)] if arguments.snapshot else all_snapshots(lake, source)
        for found in dry.partitions(source, snapshots):
            if not arguments.mix or names_of(found.asset).get("mix") == arguments.mix:
                yield found


def _sources(arguments: Namespace, catalogue: Catalogue) -> list[Source]:
    if arguments.source:
        return [known("source", catalogue.sources, arguments.source, "--source")]
    if arguments.mix:
        named = {stream.source for stream in catalogue.mixes[arguments.mix].streams}
        return [source for source in catalogue.sources.values() if source.name in named]
    return list(catalogue.sources.values())


def _line(found: Prospect) -> str:
    where = f"{found.asset} ({found.snapshot})" if found.snapshot else found.asset
    counts = [
        f"{number} {words}"
        for number, words in (
            (found.missing, "to grind"),
            (found.gone, "to go"),
            (found.kept if found.state == "make" else 0, "to keep"),
        )
        if number
    ]
    said = "; ".join(([", ".join(counts)] if counts else []) + list(found.why))
    return f"{found.state:<9}{where}{f': {said}' if said else ''}"
