"""`make LAKE SOURCE|MIX`: makes what is missing of a source or a mix, without Dagster.

For a source, it makes the documents of every snapshot, in all versions, and their attribute sets. For a mix, it makes
its documents, their tokens, and its indexes. Partitions that are up to date are not made again.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from gristmill.commands._terminal import add_engine, add_lake, add_shelves, engine_of, lake_of, shelves_of, show
from gristmill.lake.address import check_snapshot
from gristmill.pipeline.make import Maker
from gristmill.recipes.catalogue import read_catalogue

HELP = "make what is missing of a source or a mix"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser)
    parser.add_argument("what", metavar="SOURCE|MIX", help="its name; sources/NAME or mixes/NAME if both have it")
    parser.add_argument(
        "--snapshot", action="append", default=[], metavar="KEY", help="only this snapshot; may be repeated"
    )
    add_shelves(parser)
    add_engine(parser)


def run(arguments: Namespace) -> int:
    """Makes partitions, and shows a line for each of them. Returns 0.

    Raises:
        RecipeError: the name is on no shelf, or is both a source and a mix.
        GristmillError: a shard or a check failed. Partitions that were made before it are kept.
    """
    shelves = shelves_of(arguments)
    snapshots = [check_snapshot(key) for key in arguments.snapshot]
    made = 0
    with closing(engine_of(arguments)) as engine:
        maker = Maker(read_catalogue(shelves), shelves, lake_of(arguments), engine, show)
        for ledger in maker.named(arguments.what, snapshots):
            made += 1
            totals = ledger.totals
            dropped = ", ".join(f"{reason}: {rows:,}" for reason, rows in sorted(ledger.dropped.items()))
            show(
                f"made {ledger.asset} ({ledger.snapshot}): {totals['rows']:,} rows in {totals['shards']} shards"
                + (f"; dropped {dropped}" if dropped else "")
            )
    show(f"{made} partitions made; everything is up to date" if made else "everything is up to date")
    return 0
