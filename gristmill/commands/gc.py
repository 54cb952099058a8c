"""`gc LAKE`: removes what is no longer in use: parts and releases that nothing names, packing plans that no trainer
can read, and objects that runs left.

In a bucket it also aborts old uploads that were never finished. It names what no recipe makes any more, and leaves it.
"""

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.errors import RecipeError
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.folders.pinned_upload import objects_by_release
from gristmill.lake.store.protocol import Store
from gristmill.maintenance.gc import (
    Unnamed,
    check_unnamed,
    find_foreign_names,
    find_old_uploads,
    find_run_leftovers,
    find_unnamed_parts,
    release_killed_claims,
    remove_run_leftovers,
    remove_unnamed_part,
)
from gristmill.maintenance.old_plans import find_old_plans, remove_old_plans
from gristmill.maintenance.old_releases import OldRelease, find_old_releases, remove_old_release
from gristmill.releases.withdrawal import find_withdrawn
from gristmill.reports.sizes import size_in_words
from gristmill.stages.mixing.unmade import mends_by_recipe, unmade

HELP = "remove parts that no ledger, index or release names, and objects that runs left for others to read"

DAYS = 7.0
"""Age of an unfinished upload, in days, from which it is aborted. An upload of a run takes minutes."""

_DAY = 86_400.0


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    parser.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")
    parser.add_argument(
        "--upload-days",
        type=float,
        default=DAYS,
        metavar="DAYS",
        help="age from which unfinished uploads to a bucket are aborted (%(default)g)",
    )
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Removes unused objects, and shows their names before and after. Places where a run is at work are left.

    Returns:
        0; 1 if a note names objects that are not its partition's, or if a withdrawn release is there: these are shown,
        and what they name is not removed.

    Raises:
        DataError: a ledger or a release cannot be read. Nothing was removed.
        StoreError: the lake does not answer, or another process took a place over while objects were removed there.
    """
    store, dry = lake_without_targets(arguments).store(), arguments.dry_run
    _print_assets_without_recipe(store, arguments)
    if dry:
        _print_linked_root(store.url)
    else:
        store.sweep()
        release_killed_claims(store)
    wrong = [*find_foreign_names(store), *find_withdrawn(store).values()]
    for finding in wrong:
        print_line(f"WRONG  {finding}")
    removing = _Removing(dry=dry)
    gone: list[OldRelease] = []
    for release in find_old_releases(store, removing.show_left_alone):  # first, because its files name parts
        shown = f"{release.folder}: {len(release.entries)} objects"
        if removing.remove_and_show(shown, [], release.bytes, partial(remove_old_release, store, release)):
            removing.size += release.bytes
            gone.append(release)
    parts = find_unnamed_parts(store, removing.show_left_alone, [each.folder for each in gone])
    _remove_leftovers(store, removing)
    removed: list[Unnamed] = []
    for garbage in parts:
        shown = f"{garbage.folder}: {len(garbage.entries)} objects"
        if removing.remove_and_show(shown, [], garbage.bytes, partial(remove_unnamed_part, store, garbage)):
            removed.append(garbage)
            removing.size += garbage.bytes
    if not dry:
        check_unnamed(store, [*gone, *removed])
    _abort_old_uploads(store, arguments.upload_days, dry=dry)
    verb = "would be removed" if dry else "removed"
    left_alone = f"; {removing.left} left alone, as said above: run gc again later" if removing.left else ""
    print_line(f"{len(removed)} parts {verb}, {size_in_words(removing.size)}{left_alone}")
    return 1 if wrong else 0


def _remove_leftovers(store: Store, removing: "_Removing") -> None:
    """Removes the objects that runs left, and packing plans that no trainer can read. Shows the name of each."""
    for left in find_run_leftovers(store, removing.show_left_alone):
        shown = f"{left.place.asset} ({left.place.snapshot}): {len(left.entries)} objects left by a run"
        names = [entry.path for entry in left.entries]
        removing.remove_and_show(shown, names, left.bytes, partial(remove_run_leftovers, store, left))
    for plans in find_old_plans(store, removing.show_left_alone):
        shown = f"{plans.folder}: {len(plans.entries)} objects of packing plans"
        names = [entry.path for entry in plans.entries]
        if removing.remove_and_show(shown, names, plans.bytes, partial(remove_old_plans, store, plans)):
            removing.size += plans.bytes


@dataclass
class _Removing:
    """Removes things, and shows each before and after.

    Attributes:
        dry: whether nothing is removed.
        size: bytes of parts, releases and packing plans that were removed.
        left: number of things that were left alone.
    """

    dry: bool
    size: int = 0
    left: int = 0

    def show_left_alone(self, line: str) -> None:
        """Shows why something is left alone."""
        self.left += 1
        print_line(line)

    def remove_and_show(self, shown: str, names: Sequence[str], size: int, removing: Callable[[], bool]) -> bool:
        """Removes something. Returns whether it was removed, or would be in a dry run."""
        words = size_in_words(size)
        print_line(f"would remove {shown}, {words}" if self.dry else f"removing {shown}, {words}")
        for name in names:
            print_line(f"         {name}")
        if self.dry:
            return True
        if removing():
            print_line(f"removed {shown}, {words}")
            return True
        self.show_left_alone(f"kept    {shown}: a run has started to use it")
        return False


def _print_linked_root(url: str) -> None:
    """Shows where the lake is, if a link leads to it. Names below its root are real places: none is a link."""
    real = url if "://" in url else os.path.realpath(url)
    if real != url:
        print_line(f"note   {url} is {real}")


def _print_assets_without_recipe(store: Store, arguments: Namespace) -> None:
    """Shows what no recipe makes. Without recipes nobody knows it, and the rest is removed."""
    with suppress(RecipeError):
        left = unmade(store, shelf_packages(arguments))
        if left and len(left) == sum(bool(each.kind.made_by) for each in list_ledgers(store)):
            print_line("note   no recipe of --shelves makes anything of this lake: name the packages of its recipes")
            return
        for mend in mends_by_recipe(left, objects_by_release(store)):
            print_line(f"note   {mend}")


def _abort_old_uploads(store: Store, days: float, *, dry: bool) -> None:
    """Aborts the unfinished uploads of at least this age, and shows each before and after."""
    now = time.time()
    for upload in find_old_uploads(store, now - days * _DAY):
        shown = f"an upload to {upload.path}, unfinished for {(now - upload.began) / _DAY:.1f} days"
        print_line(f"would abort {shown}" if dry else f"aborting {shown}")
        if not dry:
            store.abort(upload)
            print_line(f"aborted {shown}")
