"""Garbage collection: finds and removes objects that nothing names any longer.

These are parts of token caches and exports that no ledger, merged ledger, index or release names; objects that a run
did not delete because another run may have been reading them; and uploads that were never finished.

What a file of the lake names is deleted only if the partition itself may own it. Other names are findings.

Before it deletes in a place, `gc` claims it and looks again. So no run makes there what is deleted (`held_by_gc`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gristmill.errors import DataError, StoreError
from gristmill.execution.claim import is_claimed_by_run, others_at_work
from gristmill.execution.finding import Finding, foreign_name_findings
from gristmill.execution.work import Say
from gristmill.lake.address import Place, part_at, place_of_ledger
from gristmill.lake.asset_kind import pattern_as_regex
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, EXPORT_INDEX, PARTITIONED, RAW
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.derived import columns_folder, columns_path, examples_path
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.ownership import is_in_partition_folders
from gristmill.lake.ledger.receipts import objects_of_row, read_run_note
from gristmill.lake.ledger.walk import ledger_folders, list_assets
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.protocol import Entry, Store, UnfinishedUpload
from gristmill.maintenance.folder_objects import FolderObjects
from gristmill.maintenance.gc_hold import held_by_gc, let_go_of_left
from gristmill.releases.pins import entries_with_parts, named_by_indexes, pinned_by_releases
from gristmill.scores.examples import has_blocklisted_example
from gristmill.stages.export.release import WRITING


@dataclass(kw_only=True)
class Unnamed(FolderObjects):
    """A part that nothing names.

    Attributes:
        place: the slice it belongs to.
    """

    place: Place


def find_unnamed_parts(store: Store, say: Say, gone: Sequence[str] = ()) -> list[Unnamed]:
    """The parts that can be removed.

    A part is identified by the name of its folder, which has the digest of all its inputs. It is kept if a ledger, the
    merged ledger of a split, an index or a release contains this name. Slices on which a run is working are skipped.

    Args:
        store: the lake.
        say: function that receives a line for each slice that is skipped.
        gone: folders whose files name no part any more, such as those of releases that are removed.

    Raises:
        DataError: a ledger or a release cannot be read or was edited, so the parts that it names are unknown.
        StoreError: the lake does not answer.
    """
    parts: dict[str, Unnamed] = {}
    # Listed before the ledgers are read, so that parts made meanwhile are not included.
    for entry in entries_with_parts(store):
        part_folder = part_at(entry.path)
        if part_folder:
            place, folder = part_folder
            parts.setdefault(folder, Unnamed(folder, place=place)).entries.append(entry)
    busy = {place for place in {part.place for part in parts.values()} if is_busy(store, place)}
    for place in sorted(busy, key=lambda place: place.ledger):
        say(f"{place.asset} ({place.snapshot}): a run is at work there, or was killed: nothing of it is touched")
    named = {*named_by_indexes(store, tuple(gone)), *pinned_by_releases(store)}
    free = [part for part in parts.values() if part.place not in busy]
    in_ledger = {place: _part_folders(store, place) for place in {part.place for part in free}}
    unnamed = [p for p in free if p.folder not in in_ledger[p.place] and p.name not in named]
    return sorted(unnamed, key=lambda part: part.folder)


def is_busy(store: Store, place: Place) -> bool:
    """Whether a partition has receipts, or a claim of a run: a run is working on it, or was killed."""
    beside = [entry.path for entry in store.list(place.receipts_folder)]
    return any(path != place.claim_path for path in beside) or (
        bool(beside) and is_claimed_by_run(store, place.claim_path)
    )


def _part_folders(store: Store, place: Place) -> frozenset[str]:
    """The folders of the parts that a slice's ledger names."""
    if store.head(place.ledger) is None:
        return frozenset()
    folders: set[str] = set()
    for row in read_ledger(store, place)[1]:
        of_row = {part[1] for path, _, _ in objects_of_row(row, place) if (part := part_at(path))}
        if not of_row:
            raise DataError(f"{place.table}: part {row.name}: its row names no folders; make the slice again")
        folders |= of_row
    return frozenset(folders)


def remove_unnamed_part(store: Store, garbage: Unnamed) -> bool:
    """Removes one part, unless a run has meanwhile started on its slice, or the ledger names the part now.

    Returns:
        Whether the part was removed.

    Raises:
        StoreError: the lake does not answer, or another process took the slice over meanwhile.
    """
    place = garbage.place

    def free() -> bool:
        return not is_busy(store, place) and garbage.folder not in _part_folders(store, place)

    with held_by_gc(store, place.claim_path, f"{place.asset} ({place.snapshot})", free) as held:
        if held:
            store.delete([entry.path for entry in garbage.entries], held)
    return bool(held)


def check_unnamed(store: Store, removed: Sequence[FolderObjects]) -> None:
    """Looks again, after objects were removed, whether an index or a release names them. No claim keeps these away.

    Args:
        store: the lake.
        removed: the parts, and the releases of exports.

    Raises:
        StoreError: one names them. It was written meanwhile from a ledger of before.
    """
    named = {*named_by_indexes(store), *pinned_by_releases(store)} if removed else set()
    for garbage in removed:
        if garbage.name in named:
            raise StoreError(
                f"{garbage.folder}: an index or a release that was written while gc removed this names it: run"
                " gristmill make, then gristmill verify"
            )


@dataclass(frozen=True)
class StrayObjects:
    """Objects that the last run of a partition did not delete, because another run may have been reading them.

    Attributes:
        place: the partition.
        entries: the objects.
    """

    place: Place
    entries: tuple[Entry, ...]

    @property
    def bytes(self) -> int:
        """The total size of the objects, in bytes."""
        return sum(entry.size for entry in self.entries)


def find_run_leftovers(store: Store, say: Say) -> list[StrayObjects]:
    """The leftovers that can be removed. Snapshots on which a run is working are skipped.

    Derived files that belong to no shard, and examples of documents that are taken down, are leftovers too.

    Args:
        store: the lake.
        say: function that receives a line for each snapshot that is skipped.

    Raises:
        DataError: a ledger cannot be read, so the objects that it names are unknown; or a blocklist cannot be read.
        StoreError: the lake does not answer.
    """
    leftovers: list[StrayObjects] = []
    blocked = listed_pairs(store)
    for place in _finished_partitions(store):
        free = _free_objects(store, place, blocked)
        if not free:
            continue
        if is_busy(store, place) or others_at_work(store, place, ""):
            say(
                f"{place.asset} ({place.snapshot}): a run is at work that may read it, or was killed: nothing is"
                " touched"
            )
        else:
            leftovers.append(StrayObjects(place, free))
    return leftovers


def _free_objects(store: Store, place: Place, blocked: set[Pair]) -> tuple[Entry, ...]:
    """The objects that its last run left, and derived files of nothing. The ledger does not name them."""
    named = {path for row in read_ledger(store, place)[1] for path, _, _ in objects_of_row(row, place)}
    left = [
        path for path in read_run_note(store, place).left if is_in_partition_folders(place, path) and path not in named
    ]
    left += _unused_derived_files(store, place, blocked) if place.kind in {ATTRIBUTES, DOCUMENTS} else []
    return tuple(entry for path in left if (entry := store.head(path)) is not None)


def _unused_derived_files(store: Store, place: Place, blocked: set[Pair]) -> list[str]:
    """Columns of shards that the ledger does not name, and examples of a document that a blocklist names."""
    named = {columns_path(place, row.name) for row in read_ledger(store, place)[1]}
    stale = [entry.path for entry in store.list(columns_folder(place)) if entry.path not in named]
    return [*stale, *([examples_path(place)] if has_blocklisted_example(store, place, blocked) else [])]


def find_foreign_names(store: Store) -> list[Finding]:
    """The names in notes of runs that are not of the partition's own objects. Such objects are never removed."""
    return [finding for place in _finished_partitions(store) for finding in foreign_name_findings(store, place)]


def _finished_partitions(store: Store) -> Iterator[Place]:
    """The finished partitions. Only ledger folders are listed: raw data and shards may be millions of objects."""
    for top in ledger_folders(store, *(kind for kind in PARTITIONED if not kind.immutable)):
        yield from list_ledgers(store, top)


def remove_run_leftovers(store: Store, leftovers: StrayObjects) -> bool:
    """Removes leftovers, unless a run has meanwhile started on the snapshot. What is no leftover any more is kept.

    Returns:
        Whether they were removed.

    Raises:
        StoreError: the lake does not answer, or another process took the partition over meanwhile.
    """
    place = leftovers.place

    def free() -> bool:
        return not is_busy(store, place) and not others_at_work(store, place, "")

    with held_by_gc(store, place.claim_path, f"{place.asset} ({place.snapshot})", free) as held:
        if held:
            left = {entry.path for entry in _free_objects(store, place, listed_pairs(store))}
            store.delete([entry.path for entry in leftovers.entries if entry.path in left], held)
    return bool(held)


def release_killed_claims(store: Store) -> None:
    """Removes the claims that a `gc` left behind when it was killed.

    Raises:
        StoreError: the lake does not answer.
    """
    for folder in ledger_folders(store):
        for entry in store.list(folder):
            if not entry.path.endswith("/.claim"):
                continue
            place = place_of_ledger(f"{entry.path.removesuffix('.receipts/.claim')}.json")
            if place is not None and place.claim_path == entry.path:
                let_go_of_left(store, place.claim_path, f"{place.asset} ({place.snapshot})")
    for index in list_assets(store, EXPORT_INDEX):
        let_go_of_left(store, f"{index}/{WRITING}", index)


def find_old_uploads(store: Store, before: float) -> list[UnfinishedUpload]:
    """The multipart uploads that began long ago, and will never be finished: a killed writer cannot abort its own.

    Raw data are brought by others, so their uploads are left alone.

    Args:
        store: the lake.
        before: Unix time in seconds; uploads that began later may still be at work.

    Raises:
        StoreError: the lake does not answer.
    """
    raw = re.compile(f"{pattern_as_regex(RAW.address)}/")
    ours = (upload for upload in store.unfinished() if not raw.match(upload.path))
    return sorted((upload for upload in ours if upload.began < before), key=lambda upload: (upload.path, upload.id))
