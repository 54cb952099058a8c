"""The objects of mixes, token caches and exports that no current ledger names. Nobody knows which documents they have.

Such objects are parts and releases that were replaced, what a run left, and files of an index that was not made again.
"""

from collections.abc import Collection, Iterator

from gristmill.errors import GristmillError
from gristmill.lake.address import part_at, place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    CONSOLIDATED,
    DOCUMENTS,
    EXPORT,
    MIX,
    PACKING,
    TOKEN_CACHE,
    in_ledgers,
    kind_of,
    ledger_of_object,
    whole_asset_of,
)
from gristmill.lake.ledger.adopted import root_path
from gristmill.lake.ledger.files import list_ledgers, read_head, read_ledger
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.ledger.receipts import objects_of
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.stages.export.index import release_folder

TRAINED_KINDS = (MIX, TOKEN_CACHE, EXPORT)
"""The kinds of assets that training reads."""

_WHOLE = (CONSOLIDATED, PACKING)
"""The kinds of indexes that account for everything in their folder, if they are current."""


def unaccounted(store: Store) -> dict[str, str]:
    """The objects that no current ledger names: why, by path. Of a part or a release, the path of its folder.

    Args:
        store: the lake.

    Raises:
        StoreError: the lake does not answer.
    """
    found: dict[str, str] = {}
    for path, why in _objects(store):
        part = part_at(path)
        found.setdefault(part[1] if part else release_folder(path) or path, why)
    return found


def unaccounted_versions(store: Store) -> dict[str, str]:
    """The objects of versions and sets, and of their quarantine, that no ledger names: why, by path.

    Args:
        store: the lake.

    Raises:
        StoreError: the lake does not answer.
    """
    kinds = (DOCUMENTS, ATTRIBUTES)
    places = [there for there in list_ledgers(store) if there.kind in kinds]
    folders = {f"{asset}/" for kind in kinds for asset in list_assets(store, kind)}
    folders |= {folder for there in places for folder in there.folders}
    named = {*_named(store, kinds), *map(root_path, places)}
    paths = {entry.path for folder in folders for entry in store.list(folder)}
    return dict.fromkeys(sorted(paths - named), "no ledger names it; remove it with gristmill gc")


def _objects(store: Store) -> Iterator[tuple[str, str]]:
    entries = [entry.path for kind in TRAINED_KINDS for entry in store.list(kind.top)]
    named = set(_named(store, TRAINED_KINDS))
    indexes: dict[str, tuple[IndexLedger | None, str]] = {}
    for path in entries:
        if path in named or in_ledgers(path):
            continue
        ledger = ledger_of_object(path) or ""
        if whole_asset_of(ledger) is None:
            yield path, "no ledger names it; remove it with gristmill gc"
            continue
        if ledger not in indexes:
            indexes[ledger] = _index(store, ledger)
        index, why = indexes[ledger]
        whole = index is not None and kind_of(index.asset) in _WHOLE
        if why:
            yield path, why
        elif index and not whole and path != ledger and path not in index.files:
            yield path, "its index does not name it; remove it with gristmill gc"


def _named(store: Store, kinds: Collection[AssetKind]) -> Iterator[str]:
    """The objects that the ledgers of partitions name. A ledger that cannot be read names nothing."""
    for there in list_ledgers(store):
        if there.kind in kinds:
            try:
                rows = read_ledger(store, there)[1]
            except GristmillError:
                continue
            yield from (path for row in rows for path, _, _ in objects_of(row, there))


def _index(store: Store, path: str) -> tuple[IndexLedger | None, str]:
    """The ledger of an index, and why what it names is not current; empty if it is."""
    try:
        ledger = read_index_ledger(store, path)
        if ledger is None:
            return None, f"{path} is missing; make the index"
        for upstream in ledger.inputs:
            head = read_head(store, place(upstream.asset, upstream.snapshot))
            if head is None or head.fingerprint != upstream.fingerprint:
                return ledger, f"its index was made from another {upstream.asset} ({upstream.snapshot}); make the index"
    except GristmillError as error:
        return None, str(error)
    return ledger, ""
