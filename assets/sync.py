"""sync: tells Dagster what lies in the lake, without computing anything.

The lake is the truth, Dagster's database a view of it: after a restore, a move or with a fresh database, this job
reports partitions and materializations from the ledgers, where they differ from what Dagster has.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import dagster as dg

from assets.support.arrivals import DATA_VERSION, report_arrivals, versions
from assets.support.indexes import index_facts
from assets.support.keys import key_of, snapshots_of
from assets.support.lake_identity import show_lake, shown_lake
from assets.support.report import failures, ledger_facts
from gristmill.lake.address import (
    Place,
    cache_packing,
    raw_asset,
    tokenizer_asset,
)
from gristmill.lake.asset_kinds import checks_of, ledgers_folder
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.ledger.lake_id import nameplate
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.mixing.index import read_index
from gristmill.stages.tokenization.files import TokenizerLedger, read_tokenizer_ledger
from resources.lake import LakeResource


def sync_job(catalogue: Catalogue) -> dg.JobDefinition:
    """The job `sync`."""

    @dg.op(description="Reports what the ledgers say and Dagster does not know yet.")
    def report_ledgers(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        store = lake.store()
        with failures(lake):
            if shown_lake(context.instance) not in {None, nameplate(store).id}:
                context.log.info("Dagster has shown another lake: what it knows is wiped, and told anew")
                context.instance.wipe_assets([key_of(address) for address in _everything(catalogue)])
            arrived = _arrive(context.instance, lake, catalogue)
            log: Any = context.log_event  # it takes check evaluations too; its annotation is behind
            reported = sync(context.instance, store, catalogue, log)
            show_lake(context.instance, store)
        context.log.info(f"{reported} materializations reported, {arrived} raw snapshots")
        context.add_output_metadata({"reported": reported, "raw snapshots": arrived})

    @dg.job(name="sync", description="Reports what the lake holds to Dagster; computes nothing.")
    def run() -> None:
        report_ledgers()

    return run


def _arrive(instance: dg.DagsterInstance, lake: LakeResource, catalogue: Catalogue) -> int:
    """Raw snapshots become partitions, as their sensors would have it."""
    arrived = 0
    for source in catalogue.sources.values():
        held = open_store(source.raw, lake.lake().options) if source.raw else lake.store()
        arrived += len(report_arrivals(instance, source, held)[0])
    return arrived


Report = Callable[[dg.AssetMaterialization | dg.AssetCheckEvaluation], None]
"""Records an event in Dagster."""


class Told(NamedTuple):
    """A partition as its ledger tells it: data version, and facts for people."""

    version: str
    metadata: Mapping[str, Any]


def sync(instance: dg.DagsterInstance, store: Store, catalogue: Catalogue, report: Report) -> int:
    """Makes Dagster show what the lake holds; what it shows already, with the same fingerprint, is left.

    Where Dagster holds something for made that the lake has not (a lake restored from a copy, another lake), all
    that it knows of that asset is wiped, and told again from the ledgers: single partitions cannot be wiped.

    Returns:
        How many materializations were reported.
    """
    found = _ledgers(store, catalogue)
    snapshots: dict[str, set[str]] = {source: set() for source in catalogue.sources}
    reported = 0
    for asset, source in catalogue.slices():
        heads = {place: read_head(store, place) for place in found.get(asset, [])}
        _forget(instance, asset, {place.snapshot for place in heads})
        told: dict[str, Told] = {}
        for place, head in heads.items():
            if head is not None:
                told[place.snapshot] = Told(head.fingerprint, ledger_facts(store, place, head))
                if head.totals.get("shards"):  # without one it is of a snapshot that vanished
                    snapshots[source].add(place.snapshot)
        reported += _report(instance, asset, told, report)
    for source, keys in snapshots.items():
        _know(instance, source, keys)
    for tokenizer in catalogue.tokenizers:
        ledger_of = read_tokenizer_ledger(store, tokenizer)
        if ledger_of is None:
            _forget(instance, tokenizer_asset(tokenizer), set())
        else:
            reported += _report_whole(instance, ledger_of.asset, _of_tokenizer(ledger_of), report)
    for address in catalogue.indexes():
        index = read_index(store, address)
        if index is None:
            _forget(instance, address, set())
        else:
            reported += _report_whole(instance, address, Told(index.fingerprint, index_facts(store, index)), report)
    _forget_packings(instance, store, catalogue)
    return reported


def _forget_packings(instance: dg.DagsterInstance, store: Store, catalogue: Catalogue) -> None:
    """Packing plans are never told: they are made by hand, in seconds."""
    for address in _packings(catalogue):
        if next(iter(store.list(f"{address}/")), None) is None:
            _forget(instance, address, set())


def _of_tokenizer(ledger: TokenizerLedger) -> Told:
    facts = {"documents": ledger.documents, "vocabulary": ledger.vocabulary, "sha256": ledger.fingerprint}
    return Told(ledger.fingerprint, facts)


def _ledgers(store: Store, catalogue: Catalogue) -> dict[str, list[Place]]:
    """The finished partitions of each asset. Listed where ledgers lie: raw data may be a million objects."""
    tops = {ledgers_folder(asset) for asset, _ in catalogue.slices()}
    found: dict[str, list[Place]] = {}
    for top in sorted(tops):
        for place in list_ledgers(store, top):
            found.setdefault(place.asset, []).append(place)
    return found


def _everything(catalogue: Catalogue) -> Iterator[str]:
    """The addresses of all assets."""
    yield from (raw_asset(source) for source in catalogue.sources)
    yield from (asset for asset, _ in catalogue.slices())
    yield from (tokenizer_asset(tokenizer) for tokenizer in catalogue.tokenizers)
    yield from catalogue.indexes()
    yield from _packings(catalogue)


def _packings(catalogue: Catalogue) -> Iterator[str]:
    for mix in catalogue.mixes.values():
        yield from (cache_packing(mix.name, tokenizer.name) for tokenizer in catalogue.tokenizers_of(mix))


def _forget(instance: dg.DagsterInstance, asset: str, there: set[str]) -> None:
    """Wipes what Dagster knows of an asset, if it holds something for made that is not there."""
    key = key_of(asset)
    known = instance.get_materialized_partitions(key)
    if known - there or (not there and instance.get_latest_materialization_event(key) is not None):
        instance.wipe_assets([key])


def _know(instance: dg.DagsterInstance, source: str, keys: set[str]) -> None:
    """Makes partitions of finished snapshots; removes those that have neither ledgers nor raw data."""
    name = snapshots_of(source).name or ""
    known = set(instance.get_dynamic_partitions(name))
    if keys - known:
        instance.add_dynamic_partitions(name, sorted(keys - known))
    for key in sorted(known - keys - instance.get_materialized_partitions(key_of(raw_asset(source)))):
        instance.delete_dynamic_partition(name, key)


def _report(instance: dg.DagsterInstance, address: str, told: Mapping[str, Told], report: Report) -> int:
    """Reports the partitions of an asset of which Dagster does not know this version.

    A version that is reported again would rebuild everything below.
    """
    key = key_of(address)
    known = versions(instance, key)
    new = [partition for partition, each in told.items() if known.get(partition) != each.version]
    for partition in new:
        report(
            dg.AssetMaterialization(
                asset_key=key,
                partition=partition,
                description="Reported from the lake's ledger by sync",
                metadata=dict(told[partition].metadata),
                tags={DATA_VERSION: told[partition].version},
            )
        )
        for check in checks_of(address):
            report(
                dg.AssetCheckEvaluation(
                    asset_key=key,
                    check_name=check,
                    passed=True,
                    metadata={"source": "a ledger is published only after its blocking checks have passed"},
                    blocking=True,
                    partition=partition,
                )
            )
    return len(new)


def _report_whole(instance: dg.DagsterInstance, address: str, told: Told, report: Report) -> int:
    """The same of an asset without partitions."""
    key = key_of(address)
    event = instance.get_latest_data_version_record(key)
    known = event.asset_materialization.tags if event and event.asset_materialization else {}
    if known and known.get(DATA_VERSION) == told.version:
        return 0
    report(
        dg.AssetMaterialization(
            asset_key=key,
            description="Reported from the lake by sync",
            metadata=dict(told.metadata),
            tags={DATA_VERSION: told.version},
        )
    )
    return 1
