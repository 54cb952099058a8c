"""Which finished slices must be made again because a blocklist names their documents."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import MIX, kind_of
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.takedowns.places import Search
from gristmill.tracing.rows import parent_version


class DueSlice(NamedTuple):
    """A finished slice of a mix, or of a revision, that has wanted documents.

    Attributes:
        place: the slice.
        shards: its shards with these documents, sorted.
        by: the asset whose recipe names the blocklist: the slice itself or the version that it is selected from; empty
            if neither does. Then the blocklist takes nothing out of the slice.
    """

    place: Place
    shards: tuple[str, ...]
    by: str

    def __str__(self) -> str:
        return f"{self.place.asset} ({self.place.snapshot}): {', '.join(self.shards)}"


def list_for_mix(blocklist: str) -> str:
    """The advice on a mix whose recipe does not name a blocklist: a finished mix keeps its recipe.

    >>> list_for_mix("takedowns").partition(": ")[0]
    'a finished mix keeps its recipe'
    """
    return (
        f'a finished mix keeps its recipe: make another mix, with blocklists=("{blocklist}",) in its streams, and'
        " remove the recipe and the folders of this one; or remove its folders alone, add the list, and make it"
    )


def due_slices(store: Store, search: Search, blocklist: str) -> Iterator[DueSlice]:
    """The slices that have wanted documents, and whether the blocklist reaches them.

    A slice of a revision is named only if its own recipe names the list: others rightly keep the document.

    Args:
        store: the lake.
        search: the places of the documents.
        blocklist: name of the list.

    Raises:
        DataError: a ledger is wrong.
    """
    slices: dict[tuple[str, str], set[str]] = {}
    for found in search.found:
        if found.area in {"mixes", "documents"}:
            slices.setdefault((found.asset, found.snapshot), set()).add(found.shard)
    for (asset, snapshot), shards in slices.items():
        here = place(asset, snapshot)
        by = _place_naming_blocklist(store, here, blocklist)
        if by == asset or kind_of(asset) is MIX:
            yield DueSlice(here, tuple(sorted(shards)), by)


def _place_naming_blocklist(store: Store, here: Place, blocklist: str) -> str:
    """The slice or the version above it whose recipe names a list; empty if none does."""
    head = read_head(store, here)
    while head is not None:
        with read_free_form(place(head.asset, head.snapshot).ledger):
            names = msgspec.convert(head.recipe.parameters.get("blocklists", ()), tuple[str, ...])
        if blocklist in names:
            return head.asset
        parent = parent_version(head)
        head = read_head(store, place(parent.asset, parent.snapshot)) if parent else None
    return ""
