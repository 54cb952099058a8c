"""The objects that a release names: whether the lake has each of them, and will keep it."""

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import EXPORT, TOKEN_CACHE, kind_of, ledger_of_asset
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import PinnedRelease, pinned_path
from gristmill.stages.export.index import release_folder

_WITH_PARTS = (TOKEN_CACHE, EXPORT)


def lost_object(store: Store, release: PinnedRelease) -> str:
    """The path of the first object of a release that the lake does not have in its size; empty if it has all.

    Objects are listed, not read: `verify` reads them.

    Args:
        store: the lake.
        release: the release.
    """
    slices = [place(each.asset, each.snapshot) for each in release.ledgers if kind_of(each.asset) in _WITH_PARTS]
    folders = {folder for each in slices for folder in each.folders}
    there = {entry.path: entry for folder in sorted(folders) for entry in store.list(folder)}
    for path, (_, size) in sorted(release.objects.items()):
        entry = there.get(path) or store.head(path)  # few are no part: a tokenizer's, and those of an export's release
        if entry is None or entry.size != size:
            return path
    return ""


def check_kept(store: Store, release: PinnedRelease) -> None:
    """Checks that the lake has the objects of a release that was just written, and that no `gc` may still remove one.

    A `gc` that began before the release was written does not know it. It removes what no ledger names. So the ledgers
    must name the objects still.

    Args:
        store: the lake.
        release: the release.

    Raises:
        DataError: an object is lost, or something was made again meanwhile.
    """
    lost = lost_object(store, release) or _unnamed(store, release)
    if lost:
        raise DataError(
            f"{lost}: was made again or removed while {pinned_path(release.name)} was written, so that release was"
            " taken back; give the same command again"
        )


def _unnamed(store: Store, release: PinnedRelease) -> str:
    """The first partition or folder of the release that has changed since; an empty string if all are the same."""
    for each in release.ledgers:
        if kind_of(each.asset) not in _WITH_PARTS:
            continue
        head = read_head(store, place(each.asset, each.snapshot))
        if head is None or head.fingerprint != each.fingerprint:
            return f"{each.asset} ({each.snapshot})"
    for folder in sorted({found for path in release.objects if (found := release_folder(path))}):
        ledger = read_index_ledger(store, ledger_of_asset(folder.rstrip("/").rpartition("/")[0]))
        if ledger is None or not any(path.startswith(folder) for path in ledger.files):
            return folder
    return ""
