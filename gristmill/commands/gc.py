"""`gc LAKE`: removes parts of token caches that nobody names any longer."""

from argparse import ArgumentParser, Namespace

from gristmill.commands._terminal import add_lake, lake_of, show
from gristmill.stages.garbage import find_garbage, remove

HELP = "remove parts of token caches that no ledger, index or release names"


def declare(parser: ArgumentParser) -> None:
    """The arguments."""
    add_lake(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")


def run(arguments: Namespace) -> int:
    """Removes, and says what.

    Raises:
        DataError: a ledger or a release cannot be read; nothing was removed.
        StoreError: the lake does not answer.
    """
    store = lake_of(arguments).store()
    found = find_garbage(store, show)
    removed = size = 0
    for garbage in found:
        shown = f"{garbage.folder}: {len(garbage.entries)} objects, {garbage.bytes:,} bytes"
        if arguments.dry_run:
            show(f"would remove {shown}")
        elif remove(store, garbage):
            show(f"removed {shown}")
        else:
            show(f"kept    {garbage.folder}: a run has come to it meanwhile")
            continue
        removed += 1
        size += garbage.bytes
    verb = "would be removed" if arguments.dry_run else "removed"
    show(f"{removed} parts {verb}, {size:,} bytes")
    return 0
