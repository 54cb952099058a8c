"""Finds and removes releases of exports that their index does not name any more, or that were never finished."""

import re
from dataclasses import dataclass

from gristmill.execution.claim import is_claimed_by_run
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import EXPORT_INDEX, ledger_of_asset
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.store.protocol import Store
from gristmill.maintenance.folder_objects import FolderObjects
from gristmill.maintenance.gc_hold import held_by_gc
from gristmill.releases.pins import pinned_by_releases
from gristmill.stages.export.index import release_folder
from gristmill.stages.export.release import WRITING

_NAME = re.compile(rb"release-[0-9a-f]+|metadataset-[0-9a-f]+\.yaml")


@dataclass(kw_only=True)
class OldRelease(FolderObjects):
    """A release that nothing names: its folder, or a metadataset that is named by its digest.

    Attributes:
        index: address of the index that it belongs to.
    """

    index: str


def find_old_releases(store: Store, say: Say) -> list[OldRelease]:
    """The releases that can be removed: neither their index names them, nor does a release of the lake.

    Args:
        store: the lake.
        say: function that receives a line for each index that is skipped, because its release is being written, or
            because its ledger is lost, so that the release that it names is unknown.

    Raises:
        DataError: the ledger of an index or a release of the lake cannot be read, so what it names is unknown.
        StoreError: the lake does not answer.
    """
    found: dict[str, OldRelease] = {}
    for entry in store.list(EXPORT_INDEX.top_folder):
        folder = release_folder(entry.path)
        if folder:
            index = folder.rstrip("/").rpartition("/")[0]
            found.setdefault(folder, OldRelease(folder, index=index)).entries.append(entry)
    busy = {
        index for index in {each.index for each in found.values()} if is_claimed_by_run(store, f"{index}/{WRITING}")
    }
    for index in sorted(busy):
        say(f"{index}: a run writes its release, or was killed: nothing of it is touched")
    ledgers = {index: _read_index_ledger(store, index) for index in {each.index for each in found.values()}}
    for index in sorted(index for index, ledger in ledgers.items() if ledger is None and index not in busy):
        say(f"{index}: its ledger is lost, so the release that it names is unknown: nothing of it is touched; make it")
    kept = set(pinned_by_releases(store)) if found else set()
    for old in found.values():
        if not old.folder.endswith("/"):
            names = {name.decode() for name in _NAME.findall(store.read(old.folder))}
            kept |= names if old.name in kept else {old.name} if names & kept else set()
    free = (each for each in found.values() if each.index not in busy and each.name not in kept)
    return sorted((each for each in free if not _is_current(each, ledgers[each.index])), key=lambda each: each.folder)


def _read_index_ledger(store: Store, index: str) -> IndexLedger | None:
    return read_index_ledger(store, ledger_of_asset(index))


def _is_current(release: OldRelease, ledger: IndexLedger | None) -> bool:
    """Whether an index names a release, or may name it because its ledger is lost."""
    return ledger is None or any(path.startswith(release.folder) for path in ledger.files)


def remove_old_release(store: Store, release: OldRelease) -> bool:
    """Removes one release, unless a run has meanwhile begun to write it, or something names it now.

    An index may name it, or a release of the lake that was written since; or its index is lost.

    Returns:
        Whether it was removed.

    Raises:
        DataError: the ledger of an index or a release of the lake cannot be read.
        StoreError: the lake does not answer, or another process took the index over meanwhile.
    """

    def free() -> bool:
        return release.folder in {each.folder for each in find_old_releases(store, lambda _: None)}

    with held_by_gc(store, f"{release.index}/{WRITING}", release.index, free) as held:
        if held:
            store.delete([entry.path for entry in release.entries], held)
    return bool(held)
