"""sync: tells Dagster what lies in the lake, without computing anything.

The lake is the truth, Dagster's database a view of it: after a restore, a move or with a fresh database, this job
reports partitions and materializations from the ledgers, where they differ from what Dagster has.
"""

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from assets.arrivals import DATA_VERSION, report_arrivals
from assets.checks import checks_of
from assets.keys import address_of, key_of
from assets.partitions import snapshots_of
from assets.report import failures
from gristmill.catalogue import Catalogue
from gristmill.lake.address import Place, attributes_asset, cache_asset, documents_asset, mix_asset
from gristmill.lake.ledger import Ledger, list_ledgers, read_head
from gristmill.lake.store import Store, open_store
from gristmill.stages.tokenizing import read_tokenizer_ledger
from resources.lake import LakeResource


def sync_job(catalogue: Catalogue) -> dg.JobDefinition:
    """The job `sync`."""

    @dg.op(description="Reports what the ledgers say and Dagster does not know yet.")
    def report_ledgers(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        with failures():
            arrived = _arrive(context.instance, lake, catalogue)
            log: Any = context.log_event  # it takes check evaluations too; its annotation is behind
            reported = sync(context.instance, lake.store(), catalogue, log)
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


def sync(instance: dg.DagsterInstance, store: Store, catalogue: Catalogue, report: Report) -> int:
    """Reports partitions and materializations; those that Dagster knows with the same fingerprint are left.

    Returns:
        How many materializations were reported.
    """
    reported = 0
    sources = _source_of_assets(catalogue)
    snapshots: dict[str, set[str]] = {}
    for place in list_ledgers(store):
        source = sources.get(place.asset)
        ledger = read_head(store, place)
        if source is None or ledger is None:
            continue
        snapshots.setdefault(source, set()).add(place.snapshot)
        reported += _report(instance, place, ledger, report)
    for source, keys in snapshots.items():
        name = snapshots_of(source).name or ""
        missing = keys - set(instance.get_dynamic_partitions(name))
        if missing:
            instance.add_dynamic_partitions(name, sorted(missing))
    for tokenizer in catalogue.tokenizers:
        found = read_tokenizer_ledger(store, tokenizer)
        if found is not None:
            reported += _report_version(instance, key_of(found.asset), None, found.fingerprint, found.documents, report)
    return reported


def _source_of_assets(catalogue: Catalogue) -> dict[str, str]:
    """Whose snapshots each partitioned asset has."""
    return dict(_pairs(catalogue))


def _pairs(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    for source in catalogue.sources.values():
        for version in source.versions:
            yield documents_asset(source.name, version), source.name
            for tagger in catalogue.taggers_of(source, version):
                yield attributes_asset(source.name, version, tagger.name), source.name
    for mix, stream in catalogue.streams():
        yield mix_asset(mix.name, stream.key), stream.source
        for tokenizer in catalogue.tokenizers_of(mix):
            yield cache_asset(mix.name, tokenizer.name, stream.key), stream.source


def _report(instance: dg.DagsterInstance, place: Place, ledger: Ledger, report: Report) -> int:
    rows = ledger.totals.get("rows", 0)
    return _report_version(instance, key_of(place.asset), place.snapshot, ledger.fingerprint, rows, report)


def _report_version(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None, fingerprint: str, rows: int, report: Report
) -> int:
    """1 if Dagster did not know it, else 0: a version that is reported again would rebuild everything below."""
    event = instance.get_latest_data_version_record(key, partition_key=partition) if partition else None
    event = event or (instance.get_latest_data_version_record(key) if partition is None else None)
    known = event.asset_materialization.tags if event and event.asset_materialization else {}
    if known and known.get(DATA_VERSION) == fingerprint:
        return 0
    report(
        dg.AssetMaterialization(
            asset_key=key,
            partition=partition,
            description="Reported from the lake's ledger by sync",
            metadata={"dagster/row_count": rows, "fingerprint": fingerprint},
            tags={DATA_VERSION: fingerprint},
        )
    )
    for check in checks_of(address_of(key)):
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
    return 1
