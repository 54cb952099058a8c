"""Indexes: a mix or a token cache closed over the ledgers that exist; what is absent is listed, not waited for."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, Ledger, dump_ledger, load_ledger, merge
from gristmill.lake.address import SPLITS, cache_asset, cache_index, mix_asset, mix_index, place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import dump, read_head, read_ledger
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.store.protocol import Store
from gristmill.lake.token_stream import open_split
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.consolidating import consolidate, consolidated_folder
from gristmill.stages.trainer_config import cache_catalog, data_yaml


class Slice(msgspec.Struct, frozen=True):
    """One snapshot of one stream as the index takes it."""

    stream: str
    snapshot: str
    fingerprint: str
    totals: dict[str, int]


class Index(msgspec.Struct, frozen=True):
    """What a mix or a token cache consists of, at the time of its index.

    Attributes:
        schema: 1.
        asset: the index's address.
        fingerprint: over the slices.
        slices: what it takes.
        absent: `stream/snapshot` of what its sources have and it has not yet.
        left: finished slices that it leaves out, as another edition replaces them.
        totals: of the slices.
    """

    schema: int
    asset: str
    fingerprint: str
    slices: tuple[Slice, ...]
    absent: tuple[str, ...]
    left: tuple[str, ...]
    totals: dict[str, int]


def read_index(store: Store, asset: str) -> Index | None:
    """The index at an address, as it was last closed; None if there is none, or one of another schema."""
    found = store.read_tagged(f"{asset}/index.json")
    try:
        return msgspec.json.decode(found[0], type=Index) if found else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def newest(snapshots: Sequence[str]) -> str:
    """The last snapshot as people count: 3.9 before 3.11, 2023-12 before 2024-02."""
    return max(snapshots, key=_natural)


def _natural(key: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d+|\D+", key)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def _finished(store: Store, asset: str, snapshots: Sequence[str]) -> dict[str, Head]:
    found = {key: read_head(store, place(asset, key)) for key in snapshots}
    return {key: ledger for key, ledger in found.items() if ledger is not None}


def _chosen(ledgers: Mapping[str, Head], source: Source) -> list[str]:
    """Which finished snapshots count: all, or the newest edition; none without shards: it has vanished."""
    there = sorted(key for key, ledger in ledgers.items() if ledger.totals.get("shards"))
    return [newest(there)] if there and source.snapshots == "replace" else there


def _close(
    asset: str,
    by_stream: Mapping[str, Mapping[str, Head]],
    known: Mapping[str, Sequence[str]],
    sources: Mapping[str, Source],
) -> Index:
    slices: list[Slice] = []
    absent: list[str] = []
    left: list[str] = []
    for stream, ledgers in by_stream.items():
        chosen = _chosen(ledgers, sources[stream])
        slices += [Slice(stream, key, ledgers[key].fingerprint, ledgers[key].totals) for key in chosen]
        absent += [f"{stream}/{key}" for key in sorted(set(known[stream]) - set(ledgers))]
        finished = {key for key, ledger in ledgers.items() if ledger.totals.get("shards")}
        left += [f"{stream}/{key}" for key in sorted(finished - set(chosen))]
    totals: dict[str, int] = {}
    for each in slices:
        for name, number in each.totals.items():
            totals[name] = totals.get(name, 0) + number
    fingerprint = digest_of([asset, [[s.stream, s.snapshot, s.fingerprint] for s in slices]])
    return Index(1, asset, fingerprint, tuple(slices), tuple(absent), tuple(left), dict(sorted(totals.items())))


def index_mix(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    """Closes a mix over its finished slices.

    Args:
        store: the lake.
        mix: the recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.
    """
    store.sweep()
    index = _of_mix(store, mix, sources, known)
    _put(store, f"{index.asset}/index.json", dump(index))
    return index


def _of_mix(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    streams = {s.key: _finished(store, mix_asset(mix.name, s.key), known[s.key]) for s in mix.streams}
    return _close(mix_index(mix.name), streams, known, sources)


def index_cache(
    store: Store,
    mix: Mix,
    tokenizer: Tokenizer,
    sources: Mapping[str, Source],
    known: Mapping[str, Sequence[str]],
    *,
    consolidated: bool = False,
) -> Index:
    """Closes a token cache: a merged Levanter ledger a stream and split, and what a trainer is given beside them.

    Args:
        store: the lake.
        mix: the recipe.
        tokenizer: the recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.
        consolidated: whether each stream and split is also copied into one cache, with a `data.yaml` of its own.
    """
    store.sweep()
    index = _of_cache(store, mix, tokenizer, sources, known)
    merged: dict[str, dict[str, Ledger]] = {}
    for stream in (each.key for each in mix.streams):
        asset = cache_asset(mix.name, tokenizer.name, stream)
        chosen = [s.snapshot for s in index.slices if s.stream == stream]
        for split in SPLITS if mix.validation else SPLITS[:1]:
            merged.setdefault(split, {})[stream] = _merge(store, asset, split, chosen)
    catalog = {
        split: {name: (f"{cache_asset(mix.name, tokenizer.name, name)}/{split}", each) for name, each in found.items()}
        for split, found in merged.items()
    }
    if consolidated:
        _consolidate(store, mix, tokenizer, index.asset, merged)
    _put(store, f"{index.asset}/cache_catalog.json", cache_catalog(store.url, catalog))
    _put(store, f"{index.asset}/data.yaml", data_yaml(store.url, mix, tokenizer))
    _put(store, f"{index.asset}/index.json", dump(index))  # last: where it is, the rest is
    return index


def _consolidate(
    store: Store, mix: Mix, tokenizer: Tokenizer, asset: str, merged: Mapping[str, Mapping[str, Ledger]]
) -> None:
    """One cache a stream and split; the folder of a stream carries the digest of what it is made of."""
    top = f"{asset}/consolidated/"
    folders: dict[str, str] = {}
    catalog: dict[str, dict[str, tuple[str, Ledger]]] = {split: {} for split in merged}
    for stream in mix.streams:
        ledgers = {split: found[stream.key] for split, found in merged.items()}
        folders[stream.key] = folder = consolidated_folder(top, stream, ledgers)
        cache = cache_asset(mix.name, tokenizer.name, stream.key)
        for split, ledger in ledgers.items():
            source = open_split(store, cache, split)
            one = consolidate(store, source, ledger, stream.format, f"{folder}/{split}/")
            catalog[split][stream.key] = (f"{folder}/{split}", one)
    _put(store, f"{top}cache_catalog.json", cache_catalog(store.url, catalog))
    _put(store, f"{top}data.yaml", data_yaml(store.url, mix, tokenizer, folders))
    stale = [e.path for e in store.list(top) if e.path.count("/") > top.count("/")]
    store.delete([path for path in stale if not path.startswith(tuple(f"{folder}/" for folder in folders.values()))])


def _of_cache(
    store: Store, mix: Mix, tokenizer: Tokenizer, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> Index:
    streams = {s.key: _finished(store, cache_asset(mix.name, tokenizer.name, s.key), known[s.key]) for s in mix.streams}
    return _close(cache_index(mix.name, tokenizer.name), streams, known, sources)


def is_closed(
    store: Store,
    mix: Mix,
    tokenizers: Sequence[Tokenizer],
    sources: Mapping[str, Source],
    known: Mapping[str, Sequence[str]],
) -> bool:
    """Whether the indexes of a mix and of its token caches are there, as they would be closed now."""
    due = [_of_mix(store, mix, sources, known), *(_of_cache(store, mix, t, sources, known) for t in tokenizers)]
    return all(read_index(store, index.asset) == index for index in due)


def _merge(store: Store, asset: str, split: str, snapshots: Sequence[str]) -> Ledger:
    """The ledger in Levanter's sharded layout: parts by their path below it, in order."""
    parts: dict[str, Ledger] = {}
    metadata: Mapping[str, Any] | None = None
    top = f"{asset}/{split}/"
    for snapshot in snapshots:
        _, rows = read_ledger(store, place(asset, snapshot))
        for row in rows:
            folder = str(row.extra["folders"][split])
            path = folder + LEDGER_NAME
            ledger = load_ledger(store.read(path), path)
            metadata = ledger["metadata"]["preprocessor_metadata"]
            parts[folder.removeprefix(top).rstrip("/")] = ledger
    merged = merge(parts, metadata)
    _put(store, top + LEDGER_NAME, dump_ledger(merged))
    return merged


def _put(store: Store, path: str, data: bytes) -> None:
    """Writes an object of an index, unless it is there already as it should be."""
    found = store.read_tagged(path)
    if found is None or found[0] != data:
        store.put(path, data)
