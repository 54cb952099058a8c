"""Which finished slices must be made again because a blocklist names their documents, and which no recipe makes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import DOCUMENTS, MIX, TOKEN_CACHE, kind_of, names_of
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.mixing.index import is_made_of
from gristmill.takedowns.places import TRAINED, Search
from gristmill.tracing.rows import parent_of


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
        by = _named_by(store, here, blocklist)
        if by == asset or kind_of(asset) is MIX:
            yield DueSlice(here, tuple(sorted(shards)), by)


def _named_by(store: Store, here: Place, blocklist: str) -> str:
    """The slice or the version above it whose recipe names a list; empty if none does."""
    head = read_head(store, here)
    while head is not None:
        with read_free_form(place(head.asset, head.snapshot).ledger):
            names = msgspec.convert(head.recipe.parameters.get("blocklists", ()), tuple[str, ...])
        if blocklist in names:
            return head.asset
        parent = parent_of(head)
        head = read_head(store, place(parent.asset, parent.snapshot)) if parent else None
    return ""


def former_slices(store: Store, packages: Sequence[str]) -> dict[Place, str]:
    """The finished slices that a stream made of another source, of snapshots that its source of now does not have.

    No recipe makes them again, though one makes other slices of the same asset. Ledgers that cannot be read are left
    out: who searches them tells it.

    Args:
        store: the lake.
        packages: the packages that hold the recipes.

    Returns:
        The address of the documents that the stream reads now, by slice; empty if the recipes cannot be read.
    """
    try:
        streams = read_catalogue(tuple(packages), checked=False).streams()
    except RecipeError:
        return {}
    now = {(mix.name, stream.key): stream for mix, stream in streams}
    there = list(list_ledgers(store))
    known = {(names_of(each.asset)["source"], each.snapshot) for each in there if each.kind is DOCUMENTS}
    found: dict[Place, str] = {}
    for each in there:
        names = names_of(each.asset) if each.kind.area in TRAINED else {}
        stream = now.get((names.get("mix", ""), names.get("stream", "")))
        if stream is None or (stream.source, each.snapshot) in known:
            continue
        documents = documents_asset(stream.source, stream.version)
        with suppress(DataError):
            head = read_head(store, each)
            if head is not None and not is_made_of(store, head, documents):
                found[each] = documents
    return found


def mend_of_former(former: Mapping[Place, str]) -> str:
    """The advice on slices that former_slices() gives.

    >>> mend_of_former({place("mixes/m/documents/web", "2023"): "sources/pages/v0/documents"}).partition("; delete ")[2]
    'mixes/m/documents/web/2023/ mixes/m/ledgers/web/2023.{json,run.json,shards.jsonl.gz,ids}'
    """
    slices = ", ".join(f"{each.asset} ({each.snapshot})" for each in former)
    now = ", ".join(dict.fromkeys(former.values()))
    files = " ".join(f"{_folder(each)} {each.stem}.{{json,run.json,shards.jsonl.gz,ids}}" for each in former)
    return f"no recipe makes {slices}: its stream reads {now} now, which has no such snapshot; delete {files}"


def _folder(here: Place) -> str:
    return f"{here.asset}/*/{here.snapshot}/" if here.kind is TOKEN_CACHE else here.folder
