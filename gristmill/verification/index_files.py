"""Compares the files beside an index: merged ledgers, catalogue, configuration, consolidated copies, packing plans."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader
from gristmill.formats.levanter.cache_ledger import (
    LEDGER_NAME,
    CacheLedger,
    consolidated_ledger,
    dump_ledger,
    load_ledger,
)
from gristmill.formats.levanter.checksums import CHECKSUMS, open_verified_cache
from gristmill.lake.address import SPLITS, cache_asset, cache_index, packing_stem, place
from gristmill.lake.asset_kinds import ledger_of_asset, names_in_asset_address
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.as_written import why_not_as_written
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.row_format import Chat, Text
from gristmill.stages.packing.plans import PackingPlan, plan_packing
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML, cache_catalog
from gristmill.stages.token_cache.merged_ledger import merge_slices
from gristmill.stages.token_cache.part import PartObjects, RowDigests
from gristmill.stages.token_cache.token_stream import open_split
from gristmill.verification.trainer_config import first_wrong_value, recorded_format

Merged = Mapping[tuple[str, str], tuple[str, CacheLedger]]
"""For each (split, stream): the folder of the cache, and its ledger."""


def merge_contradictions(store: Store, ledger: IndexLedger, heads: Sequence[Ledger]) -> Iterator[tuple[str, str]]:
    """The merged ledgers that do not follow from the slices, and configuration of other caches: (path, what)."""
    names = names_in_asset_address(ledger.asset)
    merged: dict[tuple[str, str], tuple[str, CacheLedger]] = {}
    for path in (path for path in ledger.files if path.endswith(f"/{LEDGER_NAME}")):
        folder = path.removesuffix(f"/{LEDGER_NAME}")
        asset, _, split = folder.rpartition("/")
        data = store.read(path)
        snapshots = [each.snapshot for each in ledger.inputs if each.asset == asset]
        try:
            expected = dump_ledger(merge_slices(store, asset, split, snapshots))
        except DataError:  # the slice's own audit says what is wrong with its parts
            return
        if data != expected:
            yield path, "its parts are not those of the slices, in their order"
        merged[split, asset.rpartition("/")[2]] = folder, load_ledger(data, path)
    streams = {stream for _, stream in merged}
    for asset in sorted({each.asset for each in ledger.inputs}):
        if asset.rpartition("/")[2] not in streams:
            yield f"{asset}/train/{LEDGER_NAME}", "the ledger of the index does not name this merged ledger"
    caches = {stream: cache_asset(names["mix"], names["tokenizer"], stream) for stream in streams}
    yield from _configuration_faults(store, ledger, heads, merged, caches)


def _configuration_faults(
    store: Store, ledger: IndexLedger, heads: Sequence[Ledger], merged: Merged, caches: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """A catalogue or a `data.yaml` that does not follow from these caches, by stream, and from the slices."""
    catalog, data_yaml = (f"{ledger.asset}/{name}" for name in (CATALOG, DATA_YAML))
    if not {catalog, data_yaml} <= ledger.files.keys():
        yield ledger.asset, f"its ledger names no {CATALOG} or no {DATA_YAML}"
        return
    splits: dict[str, dict[str, tuple[str, CacheLedger]]] = {}
    for (split, stream), cache in merged.items():
        splits.setdefault(split, {})[stream] = cache
    tokenizer = names_in_asset_address(ledger.asset)["tokenizer"]
    forms = {cache_catalog(store.url, splits, tokenizer, earlier=earlier) for earlier in (False, True)}
    if store.read(catalog) not in forms:
        yield catalog, "it does not hold the ledgers of these caches"
    try:
        wrong = first_wrong_value(store.read(data_yaml), store.url, ledger.asset, caches, heads)
    except RecipeError as error:  # a slice's recipe has no valid format
        wrong = str(error)
    if wrong:
        yield data_yaml, wrong


def copied_objects(store: Store, ledger: IndexLedger) -> set[str]:
    """The objects of the consolidated copies whose checksums a ledger names."""
    named: set[str] = set()
    for path in (path for path in ledger.files if path.endswith(f"/{CHECKSUMS}")):
        tagged = store.read_tagged(path)
        try:
            sums = msgspec.json.decode(tagged[0], type=dict[str, str]) if tagged else {}
        except NOT_DECODED:
            sums = {}  # its digest is wrong, and that is a finding
        named.update(path.removesuffix(CHECKSUMS) + name for name in sums)
    return named


def copy_contradictions(
    store: Store, ledger: IndexLedger, heads: Sequence[Ledger], say: Say
) -> Iterator[tuple[str, str]]:
    """The consolidated copies that do not hold the rows of the slices, and configuration that names other copies.

    Args:
        store: the lake.
        ledger: ledger of the copies.
        heads: the heads of their slices.
        say: function that receives a note if only the recipe's settings differ from those of the index.
    """
    copies: dict[str, dict[str, CacheReader]] = {each.asset.rpartition("/")[2]: {} for each in ledger.inputs}
    merged: dict[tuple[str, str], tuple[str, CacheLedger]] = {}
    for path in (path for path in ledger.files if path.endswith(f"/{CHECKSUMS}")):
        folder = path.removesuffix(f"/{CHECKSUMS}")
        try:
            reader = open_verified_cache(store, f"{folder}/")
        except (DataError, IndexError) as error:
            yield path, str(error)
            return
        copy, _, split = folder.rpartition("/")
        stream = copy.rpartition("/")[2].rpartition("-")[0]
        copies.setdefault(stream, {})[split] = reader
        merged[split, stream] = folder, reader.ledger
    for stream, by_split in copies.items():
        slices = [head for head in heads if head.asset.rpartition("/")[2] == stream]
        try:
            wrong = _copy_difference(store, slices, by_split)
        except (DataError, IndexError, RecipeError) as error:
            wrong = str(error)
        if wrong:
            yield ledger.asset, f"the copy of {stream}: {wrong}"
            return
    caches = {stream: folder.rpartition("/")[0] for (_, stream), (folder, _) in merged.items()}
    yield from _configuration_faults(store, ledger, heads, merged, caches)
    config = f"{ledger.asset}/{DATA_YAML}"
    names = names_in_asset_address(ledger.asset)
    of_index = f"{cache_index(names['mix'], names['tokenizer'])}/{DATA_YAML}"
    if _data_yaml_settings(store, config) != _data_yaml_settings(store, of_index):
        say(f"{config}: not proven, its weights, its block or its packing are not those of {of_index}")


def _data_yaml_settings(store: Store, path: str) -> Any:
    """What a `data.yaml` says beside the places of the caches; None if it is not there, or cannot be read."""
    tagged = store.read_tagged(path)
    try:
        config: dict[str, Any] = json.loads(tagged[0] if tagged else b"{}")
        components = {name: {**each, "cache_dir": None} for name, each in config["components"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return {**config, "cache_catalog": None, "components": components}


def _copy_difference(store: Store, slices: Sequence[Ledger], copies: Mapping[str, CacheReader]) -> str | None:
    """How the copies of a stream, by split, differ from the parts of its slices; None if they do not."""
    shard_rows: dict[str, dict[str, int]] = {split: {} for split in copies}
    metadata: dict[str, Any] = {}
    for head in slices:
        partition = place(head.asset, head.snapshot)
        dtypes = recorded_format(head.recipe.parameters).dtypes
        if any({field: reader.dtype(field) for field in reader.fields} != dtypes for reader in copies.values()):
            return f"its fields are not {dtypes}"
        for part in read_ledger(store, partition)[1]:
            folders = PartObjects.decode_from_row(part, partition.table).folders
            if folders.keys() != copies.keys():
                return f"it has the splits {sorted(copies)}, part {part.name} has {sorted(folders)}"
            digests: list[str] = []
            for split, folder in sorted(folders.items()):
                first, rows = sum(shard_rows[split].values()), part.counts.get(f"{split} rows", 0)
                digests += [split, *_row_range_digests(copies[split], first, first + rows)]
                shard_rows[split][folder.removeprefix(f"{head.asset}/{split}/").rstrip("/")] = rows
                metadata[split] = load_ledger(store.read(folder + LEDGER_NAME), folder)["metadata"]
            if digest_of(digests) != part.content:
                return f"its rows are not those of part {part.name} of {head.snapshot}"
    for split, reader in copies.items():
        counts = {field: reader.count(field) for field in reader.fields}
        expected = consolidated_ledger(shard_rows[split], counts, metadata.get(split, {}).get("preprocessor_metadata"))
        if reader.ledger != expected or store.read(f"{reader.path}/{LEDGER_NAME}") != dump_ledger(expected):
            return f"{split}/{LEDGER_NAME} does not follow from the parts of the slices"
    return None


def _row_range_digests(reader: CacheReader, first: int, last: int) -> list[str]:
    """As the content digest of a part has them, of rows [first, last)."""
    digests = RowDigests(reader.fields)
    for batch in reader.batches(first, last):
        digests.update(batch)
    return digests.field_hex_digests()


def plan_contradictions(store: Store, ledger: IndexLedger, heads: Sequence[Ledger]) -> Iterator[tuple[str, str]]:
    """The packing plans that do not follow from the merged ledgers of the lake: (path, what is wrong)."""
    sound = True
    for each in _plan_faults(store, ledger, heads):
        sound = False
        yield each
    names = names_in_asset_address(ledger.asset)
    index = read_index_ledger(store, ledger_of_asset(cache_index(names["mix"], names["tokenizer"])))
    if sound and index is not None and index.inputs != ledger.inputs:  # else they are old
        yield ledger.asset, "its slices are not those of the index of its token cache"


def _plan_faults(store: Store, ledger: IndexLedger, heads: Sequence[Ledger]) -> Iterator[tuple[str, str]]:
    formats = {head.asset: head.recipe.parameters for head in heads}
    for path in (path for path in ledger.files if path.endswith(".json")):
        try:
            plan = msgspec.json.decode(store.read(path), type=PackingPlan)
        except NOT_DECODED as error:
            yield path, f"not a packing plan ({error})"
            continue
        if what := why_not_as_written(store.read(path), plan):
            yield path, what
            continue
        if plan.split not in SPLITS or (plan.cache not in formats and not _is_empty(path, plan)):
            yield path, f"of {plan.cache} ({plan.split}), which is no split of these slices"
            continue
        merged = store.read_tagged(f"{plan.cache}/{plan.split}/{LEDGER_NAME}")
        if merged is None or hashlib.sha256(merged[0]).hexdigest() != plan.ledger:
            yield path, "made for another merged ledger of this split than the lake has"
            continue
        stored = plan.examples
        if stored is not None and ledger.files.get(stored.path) != stored.sha256:
            yield path, f"its examples {stored.path} are not those of the ledger"
            continue
        wrong = _plan_difference(store, path, plan, formats[plan.cache]) if plan.cache in formats else None
        if wrong:
            yield path, wrong


def _is_empty(path: str, plan: PackingPlan) -> bool:
    """Whether it is the plan of a stream that has no slice yet: nobody but its recipe knows the format of its rows."""
    names, report = names_in_asset_address(plan.cache), plan.report
    if "stream" not in names or report.documents or report.examples:
        return False
    return path == f"{packing_stem(names['mix'], names['tokenizer'], names['stream'], plan.split, report.length)}.json"


def _plan_difference(store: Store, path: str, plan: PackingPlan, parameters: Mapping[str, Any]) -> str | None:
    """How a plan differs from the one that the packer makes now; None if it does not.

    How many documents share an example, and which end of a long one is cut, is the trainer's choice: the plan says it.
    """
    report = plan.report
    names = names_in_asset_address(plan.cache)
    stem = packing_stem(names["mix"], names["tokenizer"], names["stream"], plan.split, report.length)
    try:
        form = recorded_format(parameters)
        if isinstance(form, Text):
            form = replace(form, pack=report.segments)
        elif isinstance(form, Chat) and report.slice_strategy is not None:
            form = replace(form, pack=report.segments, slice_strategy=report.slice_strategy)
        made, _ = plan_packing(open_split(store, plan.cache, plan.split), form, report.length, (plan.cache, stem))
    except (DataError, RecipeError, OverflowError) as error:
        return f"it cannot be made again ({error})"
    if path != f"{stem}.json":
        return f"it is the plan of {stem}.json"
    return None if plan == made else "its report or its examples are not those that the packer makes"
