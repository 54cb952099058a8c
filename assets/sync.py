"""The job `sync`: it reports the content of the lake to Dagster, and makes nothing again.

The lake is the source of truth; Dagster's database is a view of it. Run the job after a restore, after a move, or with
a new database. It reports partitions and materializations from the ledgers where Dagster's records differ.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import dagster as dg

from assets.support.arrivals import DATA_VERSION, data_versions, report_arrivals
from assets.support.facts.folder_facts import folder_facts, tokenizer_facts
from assets.support.facts.partition_facts import partition_facts
from assets.support.facts.resolution_facts import resolution_facts
from assets.support.indexes import read_index_facts
from assets.support.keys import LAKE, key_of, snapshots_of
from assets.support.lake_identity import show_lake, shown_lake
from assets.support.last_reading import keep_shown, kept_readings, readings_of
from assets.support.report import convert_errors, ledger_facts
from assets.support.runs.runless_events import record_events
from assets.support.step_ops import Output, was_run
from gristmill.errors import GristmillError, escape_controls
from gristmill.lake.address import Place, cache_packing, raw_asset, tokenizer_asset
from gristmill.lake.asset_kinds import ATTRIBUTES, LABELS, MODEL, ledger_of_asset, ledgers_folder
from gristmill.lake.ledger.files import list_ledgers, read_head, read_table
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.lake.ledger.lake_id import make_lake_id
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.roots import open_raw
from gristmill.raw_data.scan import EMPTY
from gristmill.raw_data.unclaimed import remarks_on_unclaimed
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.dedupe.resolution import read_resolution
from gristmill.stages.mixing.index import read_index
from gristmill.stages.models.ledger import find_folder_ledger
from gristmill.stages.tokenization.files import read_tokenizer_ledger
from resources.lake import LakeResource

TOLD = 10
"""The newest snapshots of each asset that are reported with all that a run tells. Of the others numbers are told."""
READ = 64 << 20
"""Bytes of labels that one run of `sync` reads, to draw the newest snapshot of each set that nobody has described."""


def sync_job(catalogue: Catalogue, outputs: Mapping[str, Output], bound: Mapping[str, Any]) -> dg.JobDefinition:
    """The job `sync`.

    Args:
        catalogue: the recipes.
        outputs: the assets that steps make, by address.
        bound: resources and loggers of the deployment, as Dagster's decorator of jobs takes them.
    """

    @dg.op(description="Reports the partitions of ledgers that Dagster has not recorded yet.")
    def report_ledgers(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        store = lake.store()
        with convert_errors(lake):
            if shown_lake(context.instance) not in {None, make_lake_id(store).id}:
                context.log.info("Dagster has shown another lake: its records are wiped, and reported again")
                context.instance.wipe_assets([key_of(address) for address in _everything(catalogue)])
            arrived = _arrive(context.instance, lake, catalogue, context.log.warning)
            log: Any = context.log_event  # it takes check evaluations too, though its annotation does not say so
            reported = sync(context.instance, store, catalogue, outputs, log)
            shown = set(context.instance.get_asset_keys())
            for address, output in outputs.items():
                if key_of(address) in shown:  # Dagster shows nothing of the others
                    keep_shown(context.instance, readings_of(address, output.checks), context.log.warning)
            show_lake(context.instance, store)
            unknown = list(remarks_on_unclaimed(store, catalogue))
        for remark in unknown:
            context.log.warning(remark)
        context.log.info(f"{reported} materializations reported, {arrived} raw snapshots")
        context.add_output_metadata({"reported": reported, "raw snapshots": arrived, "folders of no recipe": unknown})

    @dg.job(name="sync", description="Reports what the lake holds to Dagster; makes nothing again.", **bound)
    def run() -> None:
        report_ledgers()

    return run


def _arrive(
    instance: dg.DagsterInstance, lake: LakeResource, catalogue: Catalogue, warn: Callable[[str], object]
) -> int:
    """Reports raw snapshots as their sensors would. Returns the number of reports."""
    arrived = 0
    for source in catalogue.sources.values():
        raw_store = open_raw(source, lake.store(), lake.lake().options)
        reported, problems = report_arrivals(instance, source, raw_store, lake.store())
        arrived += len(reported)
        for snapshot, problem in problems.items():
            warn(f"{raw_asset(source.name)}/{snapshot} is skipped: {problem}")
    return arrived


Report = Callable[[dg.AssetMaterialization | dg.AssetCheckEvaluation], None]
"""A function that records an event in Dagster."""


class LedgerEntry(NamedTuple):
    """The data version of a partition from its ledger, metadata for people, and the checks that it has passed."""

    version: str
    metadata: Mapping[str, Any]
    passed: tuple[str, ...] = ()


def sync(
    instance: dg.DagsterInstance,
    store: Store,
    catalogue: Catalogue,
    outputs: Mapping[str, Output],
    report: Report,
) -> int:
    """Makes Dagster show what the lake holds. A partition that Dagster shows with the same fingerprint is skipped.

    Dagster may have recorded a partition that the lake does not hold, as after a restore from a copy. Then all records
    of that asset are wiped and reported again from the ledgers: Dagster cannot wipe a single partition.

    Args:
        instance: Dagster's instance.
        store: the lake.
        catalogue: the recipes.
        outputs: outputs of steps by address, as for sync_job().
        report: records an event.

    Returns:
        Number of materializations that were reported.
    """
    partitions = _ledgers(store, catalogue)
    snapshots: dict[str, set[str]] = {source: set() for source in catalogue.sources}
    reported, labels = 0, _Budget(READ)
    shown = set(instance.get_asset_keys())
    for asset, source in catalogue.partitioned_assets():
        if asset not in partitions and key_of(asset) not in shown:  # a query takes milliseconds
            continue
        output = outputs[asset]
        heads = {place: read_head(store, place) for place in partitions.get(asset, [])}
        _forget(instance, asset, {place.snapshot for place in heads}, readings_of(asset, output.checks))
        reported += _report_slices(instance, store, output, heads, labels, report)
        # Without shards, its snapshot has vanished.
        snapshots[source] |= {place.snapshot for place, head in heads.items() if head and head.totals.get("shards")}
    for source, keys in snapshots.items():
        _know(instance, source, keys)
    reported += _sync_whole(instance, store, catalogue, report)
    _forget_packings(instance, store, catalogue)
    return reported


def _sync_whole(instance: dg.DagsterInstance, store: Store, catalogue: Catalogue, report: Report) -> int:
    """The same for the assets without partitions: tokenizers, labelled sets, models and indexes."""
    reported = 0
    for tokenizer in catalogue.tokenizers:
        ledger_of = read_tokenizer_ledger(store, tokenizer)
        if ledger_of is None:
            _forget(instance, tokenizer_asset(tokenizer), set())
        else:
            told = LedgerEntry(ledger_of.fingerprint, tokenizer_facts(store, ledger_of))
            reported += _report_whole(instance, ledger_of.asset, told, report)
    for address in _folders(catalogue):
        folder = find_folder_ledger(store, address)
        if folder is None:
            _forget(instance, address, set())
        else:
            entry = LedgerEntry(folder.fingerprint, folder_facts(store, folder))
            reported += _report_whole(instance, address, entry, report)
    for dedupe in catalogue.dedupes.values():
        address = dedupe.asset
        resolution, closed = read_resolution(store, dedupe.name), read_index_ledger(store, ledger_of_asset(address))
        if resolution is None or closed is None:
            _forget(instance, address, set())
        else:
            entry = LedgerEntry(closed.fingerprint, resolution_facts(store, dedupe, resolution))
            reported += _report_whole(instance, address, entry, report)
    for address in catalogue.indexes():
        index = read_index(store, address)
        if index is None:
            _forget(instance, address, set())
        else:
            entry = LedgerEntry(index.fingerprint, read_index_facts(store, catalogue, index))
            reported += _report_whole(instance, address, entry, report)
    return reported


def _forget_packings(instance: dg.DagsterInstance, store: Store, catalogue: Catalogue) -> None:
    """Wipes the records of packing plans that the lake does not hold. Plans are not reported: they take seconds."""
    for address in _packings(catalogue):
        if next(iter(store.list(f"{address}/")), None) is None:
            _forget(instance, address, set())


def _ledgers(store: Store, catalogue: Catalogue) -> dict[str, list[Place]]:
    """The finished partitions of each asset. Lists only the folders of ledgers: raw data may be a million objects."""
    partitions: dict[str, list[Place]] = {}
    for top in sorted({ledgers_folder(asset) for asset, _ in catalogue.partitioned_assets()}):
        for place in list_ledgers(store, top):
            partitions.setdefault(place.asset, []).append(place)
    return partitions


def _everything(catalogue: Catalogue) -> Iterator[str]:
    """The addresses of all assets."""
    yield LAKE
    yield from (raw_asset(source) for source in catalogue.sources)
    yield from (asset for asset, _ in catalogue.partitioned_assets())
    yield from (tokenizer_asset(tokenizer) for tokenizer in catalogue.tokenizers)
    yield from _folders(catalogue)
    yield from (dedupe.asset for dedupe in catalogue.dedupes.values())
    yield from catalogue.indexes()
    yield from _packings(catalogue)


def _folders(catalogue: Catalogue) -> Iterator[str]:
    """The addresses of labelled sets and models."""
    yield from (LABELS.at(labels=name) for name in catalogue.labels)
    yield from (MODEL.at(model=name) for name in catalogue.models)


def _packings(catalogue: Catalogue) -> Iterator[str]:
    for mix in catalogue.mixes.values():
        yield from (cache_packing(mix.name, tokenizer.name) for tokenizer in catalogue.tokenizers_of_mix(mix))


def _forget(
    instance: dg.DagsterInstance, asset: str, held: set[str], readings: Collection[dg.AssetCheckKey] = ()
) -> None:
    """Wipes Dagster's records of an asset, if one of them is of a partition that the lake does not hold.

    Args:
        instance: Dagster's instance.
        asset: address of the asset.
        held: its partitions in the lake.
        readings: its checks that run by themselves; what they have read last stays.
    """
    key = key_of(asset)
    recorded = instance.get_materialized_partitions(key)
    if recorded - held or (not held and instance.get_latest_materialization_event(key) is not None):
        with kept_readings(instance, readings):
            instance.wipe_assets([key])


def _know(instance: dg.DagsterInstance, source: str, keys: set[str]) -> None:
    """Adds the keys of finished snapshots to Dagster; removes keys that have neither ledgers nor raw data."""
    name = snapshots_of(source).name or ""
    recorded = set(instance.get_dynamic_partitions(name))
    if keys - recorded:
        instance.add_dynamic_partitions(name, sorted(keys - recorded))
    arrived = {key for key, version in data_versions(instance, key_of(raw_asset(source))).items() if version != EMPTY}
    for key in sorted(recorded - keys - arrived):
        instance.delete_dynamic_partition(name, key)


@dataclass
class _Budget:
    """Bytes that may still be read."""

    left: int

    def covers(self, size: int) -> bool:
        """Whether so many may be read; then they are taken off."""
        covered = size <= self.left
        self.left -= size if covered else 0
        return covered


def _report_slices(
    instance: dg.DagsterInstance,
    store: Store,
    output: Output,
    heads: Mapping[Place, Ledger | None],
    labels: _Budget,
    report: Report,
) -> int:
    """Reports the partitions of an asset whose version Dagster has not recorded; returns their number.

    A version that is reported again would make everything that reads the asset out of date.
    """
    recorded = data_versions(instance, key_of(output.address))
    new = {place: head for place, head in heads.items() if head and recorded.get(place.snapshot) != head.fingerprint}
    ordered = sorted(new, key=lambda place: place.snapshot)
    older, newest = ordered[:-TOLD], ordered[-TOLD:]
    record_events(instance, [_older(store, place, new[place]) for place in older])
    for place in newest:
        head, facts = new[place], ledger_facts(store, place, new[place])
        drawn = place == newest[-1] and place.kind is ATTRIBUTES and labels.covers(head.totals.get("bytes", 0))
        try:
            shards = read_table(store, place)
            facts = partition_facts(store, output.step, place, head, shards, {}, stored=not drawn)
        except GristmillError as error:
            facts["shard table"] = f"cannot be read: {escape_controls(str(error))}"
        passed = tuple(name for name in output.checks if was_run(store, place, head, name))
        _report(place, LedgerEntry(head.fingerprint, facts, passed), report)
    return len(new)


def _older(store: Store, place: Place, head: Ledger) -> dg.AssetMaterialization:
    """The event of an older snapshot. It has the numbers, which Dagster plots: to record more would take minutes."""
    facts = ledger_facts(store, place, head).items()
    numbers = {name: value for name, value in facts if isinstance(value, int | float)}
    return _event(place.asset, LedgerEntry(head.fingerprint, numbers), place.snapshot)


def _event(address: str, entry: LedgerEntry, snapshot: str | None = None) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        asset_key=key_of(address),
        partition=snapshot,
        description="Reported from the lake's ledger by sync",
        metadata=dict(entry.metadata),
        tags={DATA_VERSION: entry.version},
    )


def _report(place: Place, entry: LedgerEntry, report: Report) -> None:
    report(_event(place.asset, entry, place.snapshot))
    for check in entry.passed:
        report(
            dg.AssetCheckEvaluation(
                asset_key=key_of(place.asset),
                check_name=check,
                passed=True,
                metadata={"source": "a ledger is published only after its blocking checks have passed"},
                blocking=True,
                partition=place.snapshot,
            )
        )


def _report_whole(instance: dg.DagsterInstance, address: str, entry: LedgerEntry, report: Report) -> int:
    """Reports an asset without partitions, if Dagster has not recorded this version."""
    event = instance.get_latest_data_version_record(key_of(address))
    recorded = event.asset_materialization.tags if event and event.asset_materialization else {}
    if recorded and recorded.get(DATA_VERSION) == entry.version:
        return 0
    report(_event(address, entry))
    return 1
