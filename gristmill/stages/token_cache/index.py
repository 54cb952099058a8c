"""Builds the index of a token cache from the ledgers that exist. Missing partitions are listed, not waited for."""

from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, dump_ledger, load_ledger, merge
from gristmill.lake.address import SPLITS, cache_asset, cache_index, place
from gristmill.lake.ledger.files import dump, read_ledger
from gristmill.lake.store.protocol import Store, put_unless_same
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.index import Index, close_slices, finished_slices, mix_index_of, read_index
from gristmill.stages.token_cache.consolidate import consolidate, consolidated_folder
from gristmill.stages.token_cache.levanter_config import cache_catalog, data_yaml
from gristmill.stages.token_cache.part import read_part_objects
from gristmill.stages.token_cache.token_stream import open_split


def index_cache(
    store: Store,
    mix: Mix,
    tokenizer: Tokenizer,
    sources: Mapping[str, Source],
    known: Mapping[str, Sequence[str]],
    *,
    consolidated: bool = False,
) -> Index:
    """Builds the index: a merged Levanter ledger for each stream and split, and the trainer's configuration files.

    Args:
        store: the lake.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.
        consolidated: whether each stream and split is also copied into one cache, with a `data.yaml` of its own.

    Returns:
        The index, as it was written.

    Raises:
        DataError: a ledger is not valid, or a part to be copied is damaged.
        StoreError: a slice is being rebuilt, or the lake does not answer.
    """
    store.sweep()
    index = _of_cache(store, mix, tokenizer, sources, known)
    merged: dict[str, dict[str, CacheLedger]] = {}
    for stream in (declared.key for declared in mix.streams):
        asset = cache_asset(mix.name, tokenizer.name, stream)
        snapshots = [s.snapshot for s in index.slices if s.stream == stream]
        for split in SPLITS if mix.validation else SPLITS[:1]:
            merged.setdefault(split, {})[stream] = _merge(store, asset, split, snapshots)
    catalog = {
        split: {
            name: (f"{cache_asset(mix.name, tokenizer.name, name)}/{split}", ledger) for name, ledger in ledgers.items()
        }
        for split, ledgers in merged.items()
    }
    if consolidated:
        _consolidate(store, mix, tokenizer, index.asset, merged)
    put_unless_same(store, f"{index.asset}/cache_catalog.json", cache_catalog(store.url, catalog))
    put_unless_same(store, f"{index.asset}/data.yaml", data_yaml(store.url, mix, tokenizer))
    put_unless_same(store, f"{index.asset}/index.json", dump(index))  # last: if it exists, the rest does
    return index


def _consolidate(
    store: Store, mix: Mix, tokenizer: Tokenizer, asset: str, merged: Mapping[str, Mapping[str, CacheLedger]]
) -> None:
    """Copies each stream and split into one cache. The name of a stream's folder has the digest of its parts."""
    top = f"{asset}/consolidated/"
    folders: dict[str, str] = {}
    catalog: dict[str, dict[str, tuple[str, CacheLedger]]] = {split: {} for split in merged}
    for stream in mix.streams:
        ledgers = {split: by_stream[stream.key] for split, by_stream in merged.items()}
        folders[stream.key] = folder = consolidated_folder(top, stream, ledgers)
        cache = cache_asset(mix.name, tokenizer.name, stream.key)
        for split, ledger in ledgers.items():
            source = open_split(store, cache, split)
            one = consolidate(store, source, ledger, stream.format, f"{folder}/{split}/")
            catalog[split][stream.key] = (f"{folder}/{split}", one)
    put_unless_same(store, f"{top}cache_catalog.json", cache_catalog(store.url, catalog))
    put_unless_same(store, f"{top}data.yaml", data_yaml(store.url, mix, tokenizer, folders))
    stale = [e.path for e in store.list(top) if e.path.count("/") > top.count("/")]
    store.delete([path for path in stale if not path.startswith(tuple(f"{folder}/" for folder in folders.values()))])


def _of_cache(
    store: Store, mix: Mix, tokenizer: Tokenizer, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> Index:
    streams = {
        s.key: finished_slices(store, cache_asset(mix.name, tokenizer.name, s.key), known[s.key]) for s in mix.streams
    }
    return close_slices(cache_index(mix.name, tokenizer.name), streams, known, sources)


def is_closed(
    store: Store,
    mix: Mix,
    tokenizers: Sequence[Tokenizer],
    sources: Mapping[str, Source],
    known: Mapping[str, Sequence[str]],
) -> bool:
    """Whether the indexes of a mix and of its token caches exist and are up to date."""
    due = [mix_index_of(store, mix, sources, known), *(_of_cache(store, mix, t, sources, known) for t in tokenizers)]
    return all(read_index(store, index.asset) == index for index in due)


def _merge(store: Store, asset: str, split: str, snapshots: Sequence[str]) -> CacheLedger:
    """Writes a split's merged ledger in Levanter's sharded layout: the parts in order, by their paths below it."""
    parts: dict[str, CacheLedger] = {}
    metadata: Mapping[str, Any] | None = None
    top = f"{asset}/{split}/"
    for snapshot in snapshots:
        partition = place(asset, snapshot)
        for row in read_ledger(store, partition)[1]:
            folder = read_part_objects(row, partition.table).folders[split]
            path = folder + LEDGER_NAME
            ledger = load_ledger(store.read(path), path)
            metadata = ledger["metadata"]["preprocessor_metadata"]
            parts[folder.removeprefix(top).rstrip("/")] = ledger
    merged = merge(parts, metadata)
    put_unless_same(store, top + LEDGER_NAME, dump_ledger(merged))
    return merged
