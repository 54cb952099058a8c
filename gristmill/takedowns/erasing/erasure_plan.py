"""What must be cut from the raw data of a lake so that no run can make some documents again."""

from collections.abc import Iterator
from typing import NamedTuple

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, place, raw_folder
from gristmill.lake.asset_kinds import RAW, kind_of, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import MediaFile
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.takedowns.erasing.named_media import media_of_documents
from gristmill.takedowns.erasing.refused_records import refused_places
from gristmill.takedowns.places import Search
from gristmill.takedowns.raw_objects import unaccounted_raw_objects
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import RawPlace, Shelves, find_raw_place
from gristmill.tracing.rows import Partition, find_partition, read_known_row

_FIRST = ("documents", "quarantine")
"""The areas that raw data are made to."""

_MAKE = "make it (gristmill make), then erase again"

_ADOPTED = "adopted: others have made this file; let them erase the row there"


class NotErasable(NamedTuple):
    """A place in the raw data that this command cannot erase.

    Attributes:
        pair: the document.
        where: the place.
        why: the reason.
        missing: paths that an object that is not there may have had.
    """

    pair: Pair
    where: str
    why: str
    missing: tuple[str, ...] = ()


class ObjectPlan(NamedTuple):
    """A raw object, and what must be cut from it.

    Attributes:
        source: the recipe of its source.
        snapshot: its snapshot.
        path: path of the object in the lake.
        name: name of the object below the snapshot.
        sha256: sha256 of the object when it was converted. Cuts are right in these bytes only.
        cuts: bytes [start, end) of what the object unpacks to.
        pairs: the documents that are cut.
    """

    source: Source
    snapshot: str
    path: str
    name: str
    sha256: str
    cuts: set[tuple[int, int]]
    pairs: set[Pair]


class ErasurePlan(NamedTuple):
    """The objects to rewrite, by path; what cannot be erased; and the media files that the documents name."""

    objects: dict[str, ObjectPlan]
    impossible: list[NotErasable]
    media: list[MediaFile]

    def in_several(self) -> Iterator[tuple[Pair, list[str]]]:
        """Each document that is cut from several objects, with their paths."""
        paths: dict[Pair, list[str]] = {}
        for path, each in sorted(self.objects.items()):
            for pair in each.pairs:
                paths.setdefault(pair, []).append(path)
        yield from ((pair, found) for pair, found in sorted(paths.items()) if len(found) > 1)


def plan_erasure(store: Store, wanted: Wanted, search: Search, shelves: Shelves) -> ErasurePlan:
    """The plan of what must be cut from raw objects.

    Args:
        store: the lake.
        wanted: the documents.
        search: their places.
        shelves: the recipes of their sources.

    Raises:
        RecipeError: the recipes cannot be read.
        DataError: a ledger or a quarantine is wrong.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    plan = ErasurePlan({}, [], media_of_documents(store, search, read_catalogue(shelves.packages)))
    first = {(each.asset, each.snapshot) for each in search.found if each.area in _FIRST}
    first |= {(each.documents.asset, each.documents.snapshot) for each in search.left_out}
    for asset, snapshot in sorted(first):
        partition = find_partition(store, place(asset, snapshot))
        if partition is None or not any(kind_of(each.asset) is RAW for each in partition.head.inputs):
            continue
        for pair, found in _raw_places_of_document(store, partition, wanted, search, shelves):
            _add_place_to_plan(store, plan, partition, pair, found, shelves)
    plan.impossible.extend(_adopted_rows(store, wanted, search))
    return plan


def unsearched_objects(store: Store, wanted: Wanted, search: Search, shelves: Shelves) -> Iterator[NotErasable]:
    """The objects that may have the documents, and were not searched: shards of documents, and raw objects that `make`
    has not read.

    Args:
        store: the lake.
        wanted: the documents.
        search: the search for them.
        shelves: recipes. A source without a recipe has no raw objects that anything would be made from.

    Raises:
        RecipeError: the recipes cannot be read.
        DataError: the record of an erasure is wrong.
        StoreError: the lake does not answer.
    """
    paths: dict[str, list[str]] = {}
    for path, why in unaccounted_raw_objects(store, read_catalogue(shelves.packages).sources.values()):
        paths.setdefault(why, []).append(path)
    found = [(f"{path[0]} and {len(path) - 1:,} more" if path[1:] else path[0], why) for why, path in paths.items()]
    found += [(each.what, "not searched") for each in search.unsearched if each.area in _FIRST]
    for where, why in found:
        yield from (NotErasable(pair, where, f"{why}; {_MAKE}") for pair in wanted.reasons)


def _adopted_rows(store: Store, wanted: Wanted, search: Search) -> Iterator[NotErasable]:
    """The rows of adopted attribute files. Those of other sets go when the set is made again."""
    adopted: dict[Place, set[str]] = {}
    for each in search.found:
        if each.area == "attributes" and each.pair in wanted.reasons:
            there = place(each.asset, each.snapshot)
            if there not in adopted:
                partition = find_partition(store, there)
                adopted[there] = {name for name, shard in partition.shards.items() if shard.at} if partition else set()
            if each.shard in adopted[there]:
                yield NotErasable(each.pair, each.where, _ADOPTED)


def why_bytes_stay(store: Store, path: str) -> str:
    """The reason why the bytes of a raw object would stay if it were replaced: links and hard links; empty if they
    would not.

    Args:
        store: the lake.
        path: path of the object.

    Raises:
        StoreError: the lake does not answer.
    """
    return store.why_bytes_stay(path) if isinstance(store, FolderStore) else ""


def _raw_places_of_document(
    store: Store, documents: Partition, wanted: Wanted, search: Search, shelves: Shelves
) -> Iterator[tuple[Pair, RawPlace]]:
    there = documents.place
    for each in search.found:
        if each.area == "documents" and (each.asset, each.snapshot) == (there.asset, there.snapshot):
            yield (
                each.pair,
                find_raw_place(documents, read_known_row(documents, each.shard, each.row, each.pair), shelves),
            )
    yield from ((each.pair, each.raw) for each in search.left_out if each.documents == there)
    yield from refused_places(store, documents, wanted, shelves)


def _add_place_to_plan(
    store: Store, plan: ErasurePlan, documents: Partition, pair: Pair, found: RawPlace, shelves: Shelves
) -> None:
    name = names_in_asset_address(documents.place.asset)["source"]
    where = found.path or found.object or found.asset
    try:
        source = find_recipe("sources", Source, shelves.packages, name)
        why = _not_erasable_reason(found, source) or why_bytes_stay(store, found.path)
    except GristmillError as error:
        why = str(error)
    if why or found.range is None:
        folders = () if found.path else (raw_folder(name, documents.place.snapshot), raw_folder(name))
        missing = tuple(f"{folder}{found.object}" for folder in folders)
        plan.impossible.append(NotErasable(pair, where, why, missing))
        return
    new = ObjectPlan(source, documents.place.snapshot, found.path, found.object, found.sha256, set(), set())
    cut = plan.objects.setdefault(found.path, new)
    cut.cuts.add(found.range)
    cut.pairs.add(pair)


def _not_erasable_reason(found: RawPlace, source: Source) -> str:
    """Why a place cannot be erased; empty if it can."""
    if not found.path.startswith(raw_folder(source.name)):
        return found.why or "it lies outside of the lake: erase it there"
    if found.range is None:
        return found.why or "its place in the object is not known"
    if found.member:
        return f"it is the member {found.member} of an archive: pack the archive again without it"
    if found.part is not None:
        return "its object is read in parts: rewrite the object by hand"
    if found.counted_in not in {"object", "unpacked object"}:
        return f"its place is counted in {found.counted_in}: rewrite the object by hand"
    if source.checksums is not None:
        return "its source compares checksums that others have published: change the list too, by hand"
    return ""
