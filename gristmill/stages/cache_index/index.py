"""Builds the index of a token cache from the ledgers that exist. Missing partitions are listed, not waited for."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, dump_ledger
from gristmill.formats.levanter.checksums import CHECKSUMS
from gristmill.lake.address import SPLITS, cache_asset, cache_index, cache_packing
from gristmill.lake.asset_kinds import CONSOLIDATED, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexWriter, read_index_ledger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.declared_tokens import declared_tokens
from gristmill.recipes.mixture.token_shares import MIXTURE, Reading
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.index import (
    Closed,
    Index,
    compose_slice_index,
    finished_slice_heads,
    open_index_reasons,
    slices_as_inputs,
)
from gristmill.stages.mixing.sound_mix import check_closed_mix
from gristmill.stages.packing.plans import plan_slices
from gristmill.stages.packing.sequences import cut_documents_sentences, planned_sequences, training_sequences_by_stream
from gristmill.stages.token_cache.consolidate import consolidate_cache, consolidated_folder
from gristmill.stages.token_cache.levanter_config import (
    CATALOG,
    DATA_YAML,
    cache_catalog,
    is_earlier_catalog,
    levanter_data_yaml,
)
from gristmill.stages.token_cache.merged_ledger import merge_slices, unnamed_merged_ledgers
from gristmill.stages.token_cache.token_stream import open_split

MEND = "give the streams more data or a larger most_epochs, or the mix a smaller token_budget"


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

    If the mix declares the length of a sequence, its packing plans are made too, because the weights follow from them.

    Args:
        store: the lake.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.
        consolidated: whether each stream and split is also copied into one cache, with its own `data.yaml`.

    Returns:
        The index, as it was written.

    Raises:
        DataError: a ledger is wrong, a part to be copied is damaged, the budget cannot be met, a row does not fit the
            length of a sequence, or the mix fails a check of its own index; for editions see index_mix.
        StoreError: a slice is being rebuilt, or the lake does not answer.
        Conflict: another run wrote the index meanwhile.
    """
    store.sweep()
    writer = IndexWriter(store, cache_index(mix.name, tokenizer.name))
    copies = IndexWriter(store, CONSOLIDATED.at(mix=mix.name, tokenizer=tokenizer.name)) if consolidated else None
    index, _ = closed = _closed_cache_index(store, mix, tokenizer, sources, known)
    check_closed_mix(store, mix, [(each.stream, each.snapshot) for each in index.slices])
    files, merged = reading_files(store, mix, tokenizer, index, sources), dict[str, dict[str, CacheLedger]]()
    for stream, split in _stream_split_pairs(mix):
        asset, snapshots = cache_asset(mix.name, tokenizer.name, stream), _snapshots_of_stream(index, stream)
        merged.setdefault(split, {})[stream] = ledger = merge_slices(store, asset, split, snapshots)
        writer.put(f"{asset}/{split}/{LEDGER_NAME}", dump_ledger(ledger))
    if _why_not_planned(store, mix, index):
        plan_slices(store, mix, tokenizer, mix.sequence_length or 0, slices_as_inputs(index), _no_progress)
    for name, data in {CATALOG: _catalog(store, mix, tokenizer, merged), **files, "index.json": as_json(index)}.items():
        writer.put(f"{index.asset}/{name}", data)
    _write_index_ledger(store, writer, index)
    if copies is not None:
        _merge_token_caches(store, mix, tokenizer, index, merged, copies)
    closed.check()
    return index


def _snapshots_of_stream(index: Index, stream: str) -> list[str]:
    """The snapshots of a stream's slices."""
    return [each.snapshot for each in index.slices if each.stream == stream]


def _write_index_ledger(store: Store, writer: IndexWriter, index: Index) -> None:
    """Writes the ledger of the index, and removes merged ledgers that it does not name: they keep old parts."""
    written = writer.close(slices_as_inputs(index))
    path, stray = ledger_of_asset(index.asset), unnamed_merged_ledgers(store, index.asset, written.files)
    store.delete(stray, lambda: read_index_ledger(store, path) == written)


def _catalog(store: Store, mix: Mix, tokenizer: Tokenizer, merged: Mapping[str, Mapping[str, CacheLedger]]) -> bytes:
    """The catalogue of the merged ledgers, by split and stream."""
    catalog = {
        split: {
            name: (f"{cache_asset(mix.name, tokenizer.name, name)}/{split}", ledger) for name, ledger in ledgers.items()
        }
        for split, ledgers in merged.items()
    }
    return cache_catalog(store.url, catalog, tokenizer.name)


def reading_files(
    store: Store, mix: Mix, tokenizer: Tokenizer, index: Index, sources: Mapping[str, Source]
) -> dict[str, bytes]:
    """The files of the index that say how training reads the streams, by name.

    Args:
        store: the lake.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        index: the slices.
        sources: the source of each stream.

    Raises:
        RecipeError: a stream's share is too small to appear in a block of sequences.
        DataError: all slices are there, and a stream has fewer tokens than the budget needs.
    """
    reading = cache_reading(store, mix, index)
    if reading.shortage_sentences and not index.absent:
        raise DataError(f"{index.asset}: the budget cannot be met: {'; '.join(reading.shortage_sentences)}; {MEND}")
    weights = mix.train_weights(reading)
    declared = declared_tokens(mix.streams, sources, tokens_by_stream(index))
    mixture = {**msgspec.to_builtins(reading), **msgspec.to_builtins(declared)}
    return {DATA_YAML: levanter_data_yaml(store.url, mix, tokenizer, weights), MIXTURE: as_json(mixture)}


def cache_reading(store: Store, mix: Mix, index: Index) -> Reading:
    """The reading of the streams of a mix in training: shares, rates and epochs, with the tokens and sequences of the
    slices of a token cache.

    Args:
        store: the lake.
        mix: the mix's recipe.
        index: index of one of its token caches; it may be one that is not written yet.

    Raises:
        RecipeError: a stream's share is too small to appear in a block of sequences.
        DataError: a part is damaged, or a document or row does not fit the length of a sequence.
    """
    sequences = training_sequences_by_stream(
        store, mix, names_in_asset_address(index.asset)["tokenizer"], slices_as_inputs(index)
    )
    return mix.reading(tokens_by_stream(index), sequences)


def cache_cuts(store: Store, mix: Mix, index: Index) -> tuple[str, ...]:
    """The warnings of documents of a token cache that are longer than a sequence, see cut_documents_sentences().

    Args:
        store: the lake.
        mix: the mix's recipe.
        index: index of the token cache; it may be one that is not written yet.

    Raises:
        DataError: a part is damaged, or a document is too long and must not be cut.
    """
    return cut_documents_sentences(
        store, mix, names_in_asset_address(index.asset)["tokenizer"], slices_as_inputs(index)
    )


def _why_not_planned(store: Store, mix: Mix, index: Index) -> tuple[str, ...]:
    """Why the lake has no packing plans of the mix's sequence length for these slices; empty if it has."""
    length, tokenizer = mix.sequence_length, names_in_asset_address(index.asset)["tokenizer"]
    if length is None or planned_sequences(store, mix, tokenizer, slices_as_inputs(index)) is not None:
        return ()
    path = ledger_of_asset(cache_packing(mix.name, tokenizer), length=str(length))
    return (f"{path}: there are no packing plans of {length} tokens for its slices",)


def _no_progress(line: str) -> None:
    """Progress of a plan is not said: the index has no progress."""


def tokens_by_stream(index: Index) -> dict[str, int]:
    """The tokens of the training split of each stream with a slice, by the index of a token cache."""
    tokens: dict[str, int] = {}
    for entry in index.slices:
        tokens[entry.stream] = tokens.get(entry.stream, 0) + entry.totals.get("train tokens", 0)
    return tokens


def _stream_split_pairs(mix: Mix) -> Iterator[tuple[str, str]]:
    """(stream, split) of each merged ledger of a token cache of a mix."""
    for stream in mix.streams:
        yield from ((stream.key, split) for split in (SPLITS if mix.validation else SPLITS[:1]))


def _merge_token_caches(
    store: Store,
    mix: Mix,
    tokenizer: Tokenizer,
    index: Index,
    merged: Mapping[str, Mapping[str, CacheLedger]],
    writer: IndexWriter,
) -> None:
    """Copies each stream and split into one cache. The name of a stream's folder has the digest of its parts."""
    top = f"{CONSOLIDATED.at(**names_in_asset_address(index.asset))}/"
    folders: dict[str, str] = {}
    catalog: dict[str, dict[str, tuple[str, CacheLedger]]] = {split: {} for split in merged}
    for stream in mix.streams:
        ledgers = {split: by_stream[stream.key] for split, by_stream in merged.items()}
        folders[stream.key] = folder = consolidated_folder(top, stream, ledgers)
        cache = cache_asset(mix.name, tokenizer.name, stream.key)
        for split, ledger in ledgers.items():
            source = open_split(store, cache, split)
            one = consolidate_cache(store, source, ledger, stream.format, f"{folder}/{split}/")
            catalog[split][stream.key] = (f"{folder}/{split}", one)
            sums = f"{folder}/{split}/{CHECKSUMS}"
            writer.put(sums, store.read(sums))
    writer.put(f"{top}{CATALOG}", cache_catalog(store.url, catalog, tokenizer.name))
    weights = mix.train_weights(cache_reading(store, mix, index))
    writer.put(f"{top}{DATA_YAML}", levanter_data_yaml(store.url, mix, tokenizer, weights, folders))
    written = writer.close(slices_as_inputs(index))
    named = tuple(f"{folder}/" for folder in folders.values())
    stale = [e.path for e in store.list(top) if e.path.count("/") > top.count("/") and not e.path.startswith(named)]
    path = ledger_of_asset(written.asset)
    store.delete(stale, lambda: read_index_ledger(store, path) == written)


def _closed_cache_index(
    store: Store, mix: Mix, tokenizer: Tokenizer, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> Closed:
    asset = cache_index(mix.name, tokenizer.name)
    return compose_slice_index(store, asset, finished_slice_heads(store, asset, mix, known), known, sources)


def why_cache_open(
    store: Store, mix: Mix, tokenizer: Tokenizer, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The reasons why the index of a token cache would be written again; empty if the lake has it.

    Consolidated copies, and packing plans of other lengths than the mix declares, are not part of it: people ask for
    them, and `verify` tells if they are old.

    Args:
        store: the lake.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.

    Raises:
        NewerSchema: a newer version of Gristmill wrote the index.
    """
    index, _ = closed = _closed_cache_index(store, mix, tokenizer, sources, known)
    if unplanned := _why_not_planned(store, mix, index):
        return unplanned  # what the files should be is not counted only to say that they are due
    files: dict[str, bytes | None] = {
        f"{cache_asset(mix.name, tokenizer.name, stream)}/{split}/{LEDGER_NAME}": None
        for stream, split in _stream_split_pairs(mix)
    }
    files[f"{index.asset}/{CATALOG}"] = None
    files |= {
        f"{index.asset}/{name}": data for name, data in reading_files(store, mix, tokenizer, index, sources).items()
    }
    stray = [
        f"{path}: no stream of the mix has this split" for path in unnamed_merged_ledgers(store, index.asset, files)
    ]
    why = tuple(stray) or open_index_reasons(store, closed, files)
    catalog = None if why else store.read_tagged(f"{index.asset}/{CATALOG}")
    if catalog is not None and is_earlier_catalog(catalog[0], tokenizer.name):
        return (f"{index.asset}/{CATALOG} names the tokenizer otherwise than {DATA_YAML}",)
    return why
