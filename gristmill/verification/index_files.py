"""Compares the files beside an index: merged ledgers, catalogue, configuration, consolidated copies, packing plans."""

import hashlib
import json
from collections.abc import Iterator, Mapping

import msgspec

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, dump_ledger, load_ledger
from gristmill.formats.levanter.checksums import CHECKSUMS, verify_checksums
from gristmill.lake.address import cache_asset
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.store.protocol import Store
from gristmill.stages.packing.plans import PackingPlan
from gristmill.stages.token_cache.index import merge_slices
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML, cache_catalog

Merged = Mapping[tuple[str, str], tuple[str, CacheLedger]]
"""For each (split, stream): the folder of the cache, and its ledger."""


def merge_contradictions(store: Store, ledger: IndexLedger) -> Iterator[tuple[str, str]]:
    """Merged ledgers that do not follow from the slices, and configuration that names other caches: (path, what)."""
    names = names_of(ledger.asset)
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
    yield from _configuration(store, ledger, merged, caches)


def _configuration(
    store: Store, ledger: IndexLedger, merged: Merged, caches: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """A catalogue or a `data.yaml` that names other caches than these, by stream."""
    catalog, data_yaml = (f"{ledger.asset}/{name}" for name in (CATALOG, DATA_YAML))
    if not {catalog, data_yaml} <= ledger.files.keys():
        yield ledger.asset, f"its ledger names no {CATALOG} or no {DATA_YAML}"
        return
    splits: dict[str, dict[str, tuple[str, CacheLedger]]] = {}
    for (split, stream), cache in merged.items():
        splits.setdefault(split, {})[stream] = cache
    if store.read(catalog) != cache_catalog(store.url, splits):
        yield catalog, "it does not hold the ledgers of these caches"
    components = json.loads(store.read(data_yaml))["components"]
    named = {stream: component["cache_dir"] for stream, component in components.items()}
    if named != {stream: f"{store.url}/{cache}" for stream, cache in caches.items()}:
        yield data_yaml, "its components are not these caches"


def copied_objects(store: Store, ledger: IndexLedger) -> set[str]:
    """The objects of the consolidated copies whose checksums a ledger names."""
    named: set[str] = set()
    for path in (path for path in ledger.files if path.endswith(f"/{CHECKSUMS}")):
        tagged = store.read_tagged(path)
        try:
            sums = msgspec.json.decode(tagged[0], type=dict[str, str]) if tagged else {}
        except (msgspec.DecodeError, UnicodeDecodeError):
            sums = {}  # its digest is wrong, and that is a finding
        named.update(path.removesuffix(CHECKSUMS) + name for name in sums)
    return named


def copy_contradictions(store: Store, ledger: IndexLedger) -> Iterator[tuple[str, str]]:
    """Objects of consolidated copies that are not as their checksums say, and configuration that names other copies."""
    merged: dict[tuple[str, str], tuple[str, CacheLedger]] = {}
    for path in (path for path in ledger.files if path.endswith(f"/{CHECKSUMS}")):
        folder = path.removesuffix(f"/{CHECKSUMS}")
        try:
            verified = verify_checksums(store, f"{folder}/")
        except (DataError, IndexError) as error:
            yield path, str(error)
            return
        copy, _, split = folder.rpartition("/")
        merged[split, copy.rpartition("/")[2].rpartition("-")[0]] = folder, verified
    caches = {stream: folder.rpartition("/")[0] for (_, stream), (folder, _) in merged.items()}
    yield from _configuration(store, ledger, merged, caches)


def plan_contradictions(store: Store, ledger: IndexLedger) -> Iterator[tuple[str, str]]:
    """Packing plans that were made for other merged ledgers than those of the lake: (path, what is wrong)."""
    for path in (path for path in ledger.files if path.endswith(".json")):
        try:
            plan = msgspec.json.decode(store.read(path), type=PackingPlan)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield path, f"not a packing plan ({error})"
            continue
        merged = store.read_tagged(f"{plan.cache}/{plan.split}/{LEDGER_NAME}")
        if merged is None or hashlib.sha256(merged[0]).hexdigest() != plan.ledger:
            yield path, "made for another merged ledger of this split than the lake has"
        stored = plan.examples
        if stored is not None and ledger.files.get(stored.path) != stored.sha256:
            yield path, f"its examples {stored.path} are not those of the ledger"
