"""What no recipe makes any more: it stays as it is, whatever becomes of its source, until somebody deletes it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import Place, documents_asset, ledger_folder, place_of_ledger
from gristmill.lake.asset_kinds import (
    DOCUMENTS,
    EXPORT,
    MIX,
    TOKEN_CACHE,
    kind_of,
    names_in_asset_address,
    whole_asset_of,
)
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.ledger.folders.pinned_upload import objects_by_release
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.stages.mixing.index import is_made_from_documents

Releases = Mapping[str, Collection[str] | None]
"""The paths that releases name, as objects_by_release() gives them."""


def unmade(store: Store, packages: Sequence[str]) -> dict[Place, str]:
    """The finished partitions that no recipe makes again: of assets that no recipe has, and former slices.

    A former slice is one that a stream made of another source, of a snapshot that its source of now does not have.
    Ledgers that cannot be read are left out: who searches them tells it.

    Args:
        store: the lake.
        packages: packages that hold the recipes.

    Returns:
        The address of the documents that its stream reads now, by former slice; an empty text for others. Nothing if
        the recipes cannot be read.
    """
    try:
        catalogue = read_catalogue(tuple(packages), checked=False)
    except RecipeError:
        return {}
    there = list(list_ledgers(store))
    gone = catalogue.assets_without_recipe({each.asset for each in there})
    former = dict(_former(store, catalogue, there))
    return {each: former.get(each, "") for each in there if each in former or each.asset in gone}


def _former(store: Store, catalogue: Catalogue, there: Sequence[Place]) -> Iterator[tuple[Place, str]]:
    now = {(mix.name, stream.key): stream for mix, stream in catalogue.streams()}
    known = {(names_in_asset_address(each.asset)["source"], each.snapshot) for each in there if each.kind is DOCUMENTS}
    for each in there:
        names = names_in_asset_address(each.asset) if each.kind in {MIX, TOKEN_CACHE, EXPORT} else {}
        stream = now.get((names.get("mix", ""), names.get("stream", "")))
        if stream is None or (stream.source, each.snapshot) in known:
            continue
        documents = documents_asset(stream.source, stream.version)
        with suppress(DataError):
            head = read_head(store, each)
            if head is not None and not is_made_from_documents(store, head, documents):
                yield each, documents


def mend_of_unmade(unmade: Mapping[Place, str], releases: Releases) -> str:
    """The advice on partitions that unmade() gives, or on some of them; an empty text without partitions.

    Args:
        unmade: the partitions, as unmade() gives them.
        releases: paths that releases name, as objects_by_release() gives them.

    >>> from gristmill.lake.address import place
    >>> web, docs = place("mixes/m/documents/web", "2023"), "sources/pages/v0/documents"
    >>> mend_of_unmade({web: docs}, {}).partition("; delete ")[2]
    'mixes/m/documents/web/2023/ mixes/m/ledgers/web/2023.{json,run.json,shards.jsonl.gz,ids}'
    >>> mend_of_unmade({web: ""}, {}).partition("; or delete ")[2]
    'mixes/m/documents/web/ mixes/m/ledgers/web/'
    >>> mend_of_unmade({web: ""}, {"a": [f"{web.folder}b"]}).partition("; or ")[2].partition(" mixes")[0]
    'withdraw the releases that name its objects (gristmill erase --release a), then delete'
    """
    former = {each: documents for each, documents in unmade.items() if documents}
    gone = sorted({each.asset for each in unmade.keys() - former.keys()})
    return "; ".join(filter(None, (_mend_of_assets(gone, releases), _mend_of_former(former, releases))))


def mends_by_recipe(unmade: Mapping[Place, str], releases: Releases) -> Iterator[str]:
    """The advice on partitions that unmade() gives, one text for each recipe that made them. The arguments are those of
    mend_of_unmade.
    """
    recipes: dict[str, dict[Place, str]] = {}
    for each, documents in unmade.items():
        recipes.setdefault(each.kind.made_by.format(**names_in_asset_address(each.asset)), {})[each] = documents
    return (mend_of_unmade(of_recipe, releases) for of_recipe in recipes.values())


def mend_of_ledger(store: Store, packages: Sequence[str], path: str) -> str:
    """The advice on what a ledger is of, if no recipe makes it; empty if a recipe does, or if none can be read.

    Args:
        store: the lake.
        packages: packages that hold the recipes; without any nobody knows what they make.
        path: path of the ledger.
    """
    if not packages:
        return ""
    here = place_of_ledger(path)
    if here is not None:
        now = unmade(store, packages)
        return mend_of_unmade({here: now[here]}, objects_by_release(store)) if here in now else ""
    try:
        gone = read_catalogue(tuple(packages), checked=False).assets_without_recipe({whole_asset_of(path) or ""})
    except RecipeError:
        return ""
    return _mend_of_assets(sorted(gone), objects_by_release(store))


def _mend_of_assets(assets: Sequence[str], releases: Releases) -> str:
    if not assets:
        return ""
    folders = [folder for asset in assets for folder in (f"{asset}/", *_beside(asset))]
    return (
        f"no recipe of --shelves makes {', '.join(assets)}, so gristmill make does not change it: put its recipe back,"
        f" or name its package, and make it; or {_withdraw(folders, releases)}delete {' '.join(folders)}"
    )


def _withdraw(folders: Sequence[str], releases: Releases) -> str:
    """What comes before folders are deleted: the releases that name objects there, or may name some."""
    below = tuple(folders)
    pinning = [
        f"gristmill erase --release {name}"
        for name, paths in releases.items()
        if paths is None or any(path.startswith(below) for path in paths)
    ]
    return f"withdraw the releases that name its objects ({', '.join(pinning)}), then " if pinning else ""


def _beside(asset: str) -> Iterator[str]:
    """The other folders that are of an asset alone: of its ledgers, and of refused rows."""
    kind = kind_of(asset)
    if kind is not None and kind.is_partitioned:
        yield ledger_folder(asset)
        if kind.quarantine:
            yield kind.quarantine.format(**names_in_asset_address(asset), snapshot="").removesuffix("/")


def _mend_of_former(former: Mapping[Place, str], releases: Releases) -> str:
    if not former:
        return ""
    slices = ", ".join(f"{each.asset} ({each.snapshot})" for each in former)
    now = ", ".join(dict.fromkeys(former.values()))
    files = " ".join(f"{_folder(each)} {each.ledger_stem}.{{json,run.json,shards.jsonl.gz,ids}}" for each in former)
    first = _withdraw([folder for each in former for folder in each.folders], releases)
    return f"no recipe makes {slices}: its stream reads {now} now, which has no such snapshot; {first}delete {files}"


def _folder(here: Place) -> str:
    return f"{here.asset}/*/{here.snapshot}/" if here.kind is TOKEN_CACHE else here.folder
