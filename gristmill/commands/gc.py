"""`gc LAKE`: removes what nobody names any longer: parts, and what was left for runs that read it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial

from gristmill.commands._terminal import add_lake, lake_of, show
from gristmill.maintenance.gc import find_garbage, find_leftovers, remove, remove_leftovers

HELP = "remove parts that no ledger, index or release names, and what runs left for others to read"


def declare(parser: ArgumentParser) -> None:
    """The arguments."""
    add_lake(parser, alone=True)
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")


def run(arguments: Namespace) -> int:
    """Removes, and says what.

    Raises:
        DataError: a ledger or a release cannot be read; nothing was removed.
        StoreError: the lake does not answer.
    """
    store = lake_of(arguments).store()
    if not arguments.dry_run:
        store.sweep()
    parts, leftovers = find_garbage(store, show), find_leftovers(store, show)
    for left in leftovers:
        shown = f"{left.place.asset} ({left.place.snapshot}): {len(left.entries)} objects left by a run"
        _remove(shown, left.bytes, partial(remove_leftovers, store, left), dry=arguments.dry_run)
    removed = size = 0
    for garbage in parts:
        shown = f"{garbage.folder}: {len(garbage.entries)} objects"
        if _remove(shown, garbage.bytes, partial(remove, store, garbage), dry=arguments.dry_run):
            removed += 1
            size += garbage.bytes
    verb = "would be removed" if arguments.dry_run else "removed"
    show(f"{removed} parts {verb}, {size:,} bytes")
    return 0


def _remove(shown: str, size: int, removing: Callable[[], bool], *, dry: bool) -> bool:
    """Whether it went, or would go; says so."""
    if dry:
        show(f"would remove {shown}, {size:,} bytes")
    elif removing():
        show(f"removed {shown}, {size:,} bytes")
    else:
        show(f"kept    {shown}: a run has come to it meanwhile")
        return False
    return True
