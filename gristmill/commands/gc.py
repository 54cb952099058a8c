"""`gc LAKE`: removes objects that are no longer in use: parts that nothing names, and objects that runs left behind."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial

from gristmill.commands._terminal import add_lake, lake_of, show
from gristmill.maintenance.gc import find_strays, find_unnamed, remove_strays, remove_unnamed

HELP = "remove parts that no ledger, index or release names, and objects that runs left for others to read"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser, alone=True)
    parser.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")


def run(arguments: Namespace) -> int:
    """Removes unused objects, and shows a line for each folder or partition. Returns 0.

    Raises:
        DataError: a ledger or a release cannot be read. Nothing was removed.
        StoreError: the lake does not answer.
    """
    store = lake_of(arguments).store()
    if not arguments.dry_run:
        store.sweep()
    parts, leftovers = find_unnamed(store, show), find_strays(store, show)
    for left in leftovers:
        shown = f"{left.place.asset} ({left.place.snapshot}): {len(left.entries)} objects left by a run"
        _remove(shown, left.bytes, partial(remove_strays, store, left), dry=arguments.dry_run)
    removed = size = 0
    for garbage in parts:
        shown = f"{garbage.folder}: {len(garbage.entries)} objects"
        if _remove(shown, garbage.bytes, partial(remove_unnamed, store, garbage), dry=arguments.dry_run):
            removed += 1
            size += garbage.bytes
    verb = "would be removed" if arguments.dry_run else "removed"
    show(f"{removed} parts {verb}, {size:,} bytes")
    return 0


def _remove(shown: str, size: int, removing: Callable[[], bool], *, dry: bool) -> bool:
    """Removes something and shows the result. Returns whether it was removed, or would be in a dry run."""
    if dry:
        show(f"would remove {shown}, {size:,} bytes")
    elif removing():
        show(f"removed {shown}, {size:,} bytes")
    else:
        show(f"kept    {shown}: a run has started to use it")
        return False
    return True
