"""Compares the release of an export with what the recipes on the shelves say of it: nothing in the lake says that."""

from collections.abc import Iterator, Sequence

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.export.index import declared_release, is_old_release
from gristmill.stages.export.release import read_release, release_path
from gristmill.stages.mixing.index import read_index

_OF_RECIPE = ("format", "weights", "repetitions")
"""The fields of a release that only its recipes say."""


def undeclared_exclusions(
    store: Store, ledger: IndexLedger, shelves: Sequence[str], say: Say
) -> Iterator[tuple[str, str]]:
    """The samples that a release leaves out, and that no recipe or blocklist excludes: (path, what is wrong).

    Args:
        store: the lake.
        ledger: ledger of the index of an export.
        shelves: the packages that hold the recipes; none: nothing is compared.
        say: function that receives a note if the recipes say another release, and on the files of older releases.
    """
    path, names = release_path(ledger.asset), names_in_asset_address(ledger.asset)
    older = [entry.path for entry in store.list(f"{ledger.asset}/") if is_old_release(ledger, entry.path)]
    if older:
        say(f"{older[0]}: not proven, {len(older)} files of older releases; gc removes those that no release names")
    release, index = read_release(store, ledger.asset), read_index(store, ledger.asset)
    if not shelves or release is None or index is None:
        return
    try:
        catalogue = read_catalogue(tuple(shelves), checked=False)
        mix, export = catalogue.mixes.get(names["mix"]), catalogue.exports.get(names["export"])
        if mix is None or export is None:
            say(f"{path}: not proven, no recipe on the shelves makes it")
            return
        made = declared_release(store, mix, export, index)
    except (DataError, RecipeError, StoreError) as error:
        say(f"{path}: not proven: {error}")
        return
    was, now = ({name: getattr(each, name) for name in _OF_RECIPE} for each in (release, made))
    if other := [name for name in _OF_RECIPE if was[name] != now[name]]:
        say(f"{path}: not proven, recipe changed: the shelves have another value of {', '.join(other)}")
    elif release.excluded != made.excluded:
        [first, *_] = sorted(set(release.excluded) ^ set(made.excluded))
        left = "leaves out" if first in release.excluded else "has"
        yield path, f"it {left} {first}, unlike what its recipe and the blocklists exclude"
