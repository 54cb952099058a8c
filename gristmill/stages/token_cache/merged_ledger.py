"""The merged ledger of a split: the parts of all slices of a stream's token cache, in order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, load_ledger, merged_ledger
from gristmill.lake.address import SPLITS, place
from gristmill.lake.asset_kinds import TOKEN_CACHE, names_in_asset_address
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import PartObjects


def unnamed_merged_ledgers(store: Store, index: str, named: Collection[str]) -> Iterator[str]:
    """The merged ledgers that the index of a token cache does not name: of a split or a stream that is gone.

    Args:
        store: the lake.
        index: address of the index.
        named: paths of the files of the index.
    """
    for stream in list_assets(store, TOKEN_CACHE, **names_in_asset_address(index)):
        for path in (f"{stream}/{split}/{LEDGER_NAME}" for split in SPLITS):
            if path not in named and store.head(path) is not None:
                yield path


def merge_slices(store: Store, asset: str, split: str, snapshots: Sequence[str]) -> CacheLedger:
    """A split's merged ledger in Levanter's sharded layout: the parts in order, by their paths below it.

    Args:
        store: the lake.
        asset: the stream's token cache.
        split: `train` or `validation`.
        snapshots: the slices, in order.

    Raises:
        DataError: a slice is not finished, or a ledger is wrong.
        StoreError: a slice is being rebuilt, or the lake does not answer.
    """
    parts: dict[str, CacheLedger] = {}
    metadata: Mapping[str, Any] | None = None
    top = f"{asset}/{split}/"
    for snapshot in snapshots:
        partition = place(asset, snapshot)
        for row in read_ledger(store, partition)[1]:
            folder = PartObjects.decode_from_row(row, partition.table).split_folder(split, row.name, partition.table)
            path = folder + LEDGER_NAME
            tagged = store.read_tagged(path)
            if tagged is None:
                raise DataError(f"{path} is missing; make this slice of the token cache again")
            ledger = load_ledger(tagged[0], path)
            metadata = ledger["metadata"]["preprocessor_metadata"]
            parts[folder.removeprefix(top).rstrip("/")] = ledger
    return merged_ledger(parts, metadata)
