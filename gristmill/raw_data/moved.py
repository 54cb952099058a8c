"""Raw objects of a finished snapshot that are in other snapshots now."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from posixpath import basename

from gristmill.errors import GristmillError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.receipts import RawVersion, raw_stamps
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.listing import RawListing, list_raw
from gristmill.raw_data.roots import raw_store
from gristmill.raw_data.snapshots import CONFIRM
from gristmill.recipes.adopted.dataset import adopted_folder
from gristmill.recipes.source import Source

_SHARE = 0.1
"""Least share of a snapshot's bytes that makes a move. A licence file, say, may be in many snapshots."""

_TWICE = (
    "which is finished and has none now, so documents would be there twice. Move them back, or change `partition` or"
    f" the name of the folder back, or take another name for the source; {CONFIRM}"
)


def moved_snapshots(lake: Lake, source: Source, made: Collection[str], there: Collection[str]) -> dict[str, str]:
    """The snapshots that take in raw objects of a finished snapshot that has none now, each with reason and mend.

    That is so after `partition` of a recipe changed, or a folder got another name, or people moved its files. Both
    snapshots together would have the documents twice. Snapshots that replace each other are never together.

    Args:
        lake: the lake.
        source: the recipe.
        made: keys of the snapshots that have a ledger.
        there: keys of the snapshots that have raw data.
    """
    if source.snapshots == "replace":
        return {}
    asset, store = documents_asset(source.name, source.versions[0]), lake.store()
    gone: dict[str, Mapping[str, RawVersion]] = {}
    for snapshot in sorted(set(made) - set(there)):
        head = read_head(store, place(asset, snapshot))
        if head is not None and head.totals.get("shards"):
            gone[snapshot] = raw_stamps(store, place(asset, snapshot))
    if not gone:
        return {}
    moved: dict[str, dict[str, set[str]]] = {snapshot: {} for snapshot in gone}
    files = adopted_folder(source, source.versions[0]).files if source.adopts else source
    for snapshot in sorted(there):
        with suppress(GristmillError):  # the step of the snapshot raises it again
            raw = raw_store(lake, files)
            listing = list_raw(files, raw, snapshot)
            read = raw_stamps(store, place(asset, snapshot)) if snapshot in made else {}
            entries = listing.entries.items()
            new = {name: each for name, each in entries if name not in read or not read[name].same(each)}
            for old, stamps in gone.items() if new else ():
                moved[old][snapshot] = _find_moved(stamps, new, listing, raw)
    found: dict[str, str] = {}
    for old, names in moved.items():
        size = sum(each.size for each in gone[old].values())
        if sum(gone[old][name].size for name in set().union(*names.values())) >= max(_SHARE * size, 1):
            reason = f"it has raw objects of snapshot {old!r}, {_TWICE}"
            found |= {snapshot: reason for snapshot, its in names.items() if its}
    return found


def _find_moved(
    stamps: Mapping[str, RawVersion], new: Mapping[str, Entry], listing: RawListing, raw: Store
) -> set[str]:
    """The names of raw objects that were read once and are among new objects of another snapshot.

    A copy has another etag. Of the new objects whose file name and size are as they were, the largest is read: if its
    bytes are the same too, all of them count as moved.

    Args:
        stamps: the objects as they were read, by name.
        new: the new objects, by name.
        listing: the raw objects of the other snapshot.
        raw: store of the raw objects.
    """
    by_etag, by_name = defaultdict[tuple[int, str], set[str]](set), defaultdict[tuple[int, str], set[str]](set)
    for name, stamp in stamps.items():
        by_etag[stamp.size, stamp.etag].add(name)
        by_name[stamp.size, basename(name)].add(name)
    found, copies = set[str](), dict[str, set[str]]()
    for name, entry in new.items():
        if same := by_etag.get((entry.size, entry.etag)):
            found |= same
        elif alike := by_name.get((entry.size, basename(name))):
            copies[name] = alike
    if copies:
        largest = max(copies, key=lambda name: (new[name].size, name))
        if listing.sha256(raw, largest) in {stamps[name].sha256 for name in copies[largest]}:
            found |= set().union(*copies.values())
    return found
