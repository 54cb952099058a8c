"""Raw objects that are all in another snapshot now than the one that was made of them."""

from collections.abc import Collection
from contextlib import suppress

from gristmill.errors import GristmillError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.receipts import raw_stamps
from gristmill.lake.store.open import Lake
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.roots import raw_store
from gristmill.raw_data.snapshots import CONFIRM
from gristmill.recipes.adopted.dataset import adopted_folder
from gristmill.recipes.source import Source

_TWICE = (
    "which is finished and has none now, so documents would be there twice. Change `partition` or the name of the"
    f" folder back, or take another name for the source; {CONFIRM}"
)


def moved_snapshots(lake: Lake, source: Source, made: Collection[str], there: Collection[str]) -> dict[str, str]:
    """The snapshots that have all raw objects of a finished snapshot that has none now, each with reason and mend.

    That is so after `partition` of a recipe changed, or a folder got another name. Both snapshots together would have
    the documents twice. Snapshots that replace each other are never together.

    Args:
        lake: the lake.
        source: the recipe.
        made: keys of the snapshots that have a ledger.
        there: keys of the snapshots that have raw data.
    """
    if source.snapshots == "replace":
        return {}
    asset, known = documents_asset(source.name, source.versions[0]), dict[str, set[tuple[int, str]]]()
    for gone in sorted(set(made) - set(there)):
        head = read_head(lake.store(), place(asset, gone))
        if head is not None and head.totals.get("shards"):
            stamps = raw_stamps(lake.store(), place(asset, gone))
            known[gone] = {(each.size, each.etag) for each in stamps.values() if each.size}
    found: dict[str, str] = {}
    files = adopted_folder(source, source.versions[0]).files if source.adopts else source
    for snapshot in sorted(set(there) - set(made)) if known else ():
        with suppress(GristmillError):  # the step of the snapshot raises it again
            listing = list_raw(files, raw_store(lake, files), snapshot)
            objects = {(each.size, each.etag) for each in listing.entries.values()}
            if gone := next((gone for gone, its in known.items() if its and its <= objects), ""):
                found[snapshot] = f"it has the raw objects of snapshot {gone!r}, {_TWICE}"
    return found
