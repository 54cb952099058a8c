"""`plan LAKE`: shows what would be rebuilt, and why. It reads ledgers and listings, and changes nothing."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

import msgspec

from gristmill.commands._terminal import add_lake, add_shelves, lake_of, shelves_of, show
from gristmill.errors import RecipeError
from gristmill.lake.address import check_snapshot
from gristmill.lake.asset_kinds import names_of
from gristmill.pipeline.dry_run import DryRun, Prospect
from gristmill.pipeline.steps import check_there
from gristmill.recipes.catalogue import Catalogue, known, read_catalogue
from gristmill.recipes.source import Source

HELP = "show what would be rebuilt, and why; exit code 1 if there is anything"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser, alone=True)
    parser.add_argument("--source", help="only partitions that are made from this source")
    parser.add_argument("--snapshot", help="only this snapshot")
    parser.add_argument("--mix", help="only the slices, token caches and indexes of this mix")
    parser.add_argument("--all", action="store_true", help="list the finished partitions too")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Shows a line for each partition, tokenizer and index. Returns 1 if one of them is not finished, else 0.

    Raises:
        RecipeError: there is no such source or mix on the shelves, the lake holds nothing of them, or no such snapshot.
        DataError: the snapshot's key is not valid.
        StoreError: the lake does not answer: try again.
    """
    shelves = shelves_of(arguments)
    counted: Counter[str] = Counter()
    for prospect in _prospects(arguments, read_catalogue(shelves), shelves):
        counted[prospect.state] += 1
        if arguments.json:
            show(msgspec.json.encode(prospect).decode())
        elif arguments.all or prospect.state != "finished":
            show(_line(prospect))
    if not counted:
        raise RecipeError(
            f"{arguments.lake}: neither raw data nor ledgers of these sources; check the lake and --shelves"
        )
    if not arguments.json:
        total = sum(counted.values())
        show(f"{total} partitions: {', '.join(f'{n} {s}' for s, n in counted.items()) or 'none'}")
    return 0 if set(counted) <= {"finished"} else 1


def _prospects(arguments: Namespace, catalogue: Catalogue, shelves: tuple[str, ...]) -> Iterator[Prospect]:
    """The partitions that the arguments select. Their inputs are surveyed too, but not returned."""
    dry = DryRun(catalogue, shelves, lake_of(arguments))
    if arguments.mix:
        known("mix", catalogue.mixes, arguments.mix, "--mix")
    some = arguments.mix or arguments.source or arguments.snapshot
    yield from (prospect for prospect in dry.tokenizers() if not some)
    sources = _sources(arguments, catalogue)
    there: dict[str, list[str]] = {}
    for source in sources:
        there[source.name], wrong = dry.snapshots(source)
        yield from wrong
    if arguments.snapshot:
        check_there([check_snapshot(arguments.snapshot)], there)
    for source in sources:
        snapshots = [key for key in there[source.name] if arguments.snapshot in {None, key}]
        for prospect in dry.partitions(source, snapshots):
            if not arguments.mix or names_of(prospect.asset).get("mix") == arguments.mix:
                yield prospect
    if not arguments.source and not arguments.snapshot:  # an index closes all sources and snapshots
        for mix in [catalogue.mixes[arguments.mix]] if arguments.mix else catalogue.mixes.values():
            yield from dry.indexes(mix, there)


def _sources(arguments: Namespace, catalogue: Catalogue) -> list[Source]:
    if arguments.source:
        return [known("source", catalogue.sources, arguments.source, "--source")]
    if arguments.mix:
        named = {stream.source for stream in catalogue.mixes[arguments.mix].streams}
        return [source for source in catalogue.sources.values() if source.name in named]
    return list(catalogue.sources.values())


def _line(prospect: Prospect) -> str:
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
