"""Raw arrivals: reports of raw snapshots to Dagster, by the raw-arrival sensor and by the job `sync`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import DagsterEventType

from assets.support.keys import key_of, snapshots_of
from gristmill.lake.address import place, raw_asset
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.scan import EMPTY, Seen, present, scan_raw
from gristmill.recipes.source import Source

DATA_VERSION = "dagster/data_version"


def versions(instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Sequence[str] | None = None) -> dict[str, str]:
    """The last data version of each partition of an asset, in one query.

    Args:
        instance: Dagster's instance.
        key: of the asset.
        partitions: only these; by default all.
    """
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION], partitions
    )
    return {partition: values[DATA_VERSION] for partition, values in tags.items()}


def reported(instance: dg.DagsterInstance, source: str, snapshots: Sequence[str] | None = None) -> dict[str, str]:
    """The last reported data version of each raw snapshot, from Dagster's event log, not from a cursor."""
    return versions(instance, key_of(raw_asset(source)), snapshots)


def is_vanished(instance: dg.DagsterInstance, source: str, snapshot: str) -> bool:
    """Whether the last report says that a snapshot has no objects left, so that an empty folder is no lost data."""
    return reported(instance, source, [snapshot]).get(snapshot) == EMPTY


def report(
    instance: dg.DagsterInstance, source: Source, due: dict[str, Seen], late: Callable[[], bool] = lambda: False
) -> list[str]:
    """Reports raw snapshots: a partition and a materialization for each.

    A version that Dagster has recorded is not reported again: it would make everything that reads it out of date.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        due: the snapshots to report. Reported ones are removed from it; the others are left for the next tick.
        late: whether to stop; at least one snapshot is reported.

    Returns:
        The snapshots that were reported.
    """
    recorded = reported(instance, source.name)
    for snapshot in [key for key, each in due.items() if recorded.get(key) == each.version]:
        del due[snapshot]
    if due:
        instance.add_dynamic_partitions(snapshots_of(source.name).name or "", sorted(due))
    done: list[str] = []
    for snapshot in sorted(due):
        if done and late():
            break
        seen = due.pop(snapshot)
        event: dict[str, Any] = {
            "asset_key": key_of(raw_asset(source.name)),
            "partition": snapshot,
            "metadata": {"objects": seen.objects, "bytes": seen.bytes},
            "tags": {DATA_VERSION: seen.version},
        }
        # Automation reacts to the materialization. Dagster 1.13 shows v0 as unsynced by the observations of assets
        # that it does not make itself. The observation must be reported first.
        instance.report_runless_asset_event(dg.AssetObservation(**event))
        instance.report_runless_asset_event(dg.AssetMaterialization(**event))
        done.append(snapshot)
    return done


def report_arrivals(instance: dg.DagsterInstance, source: Source, store: Store) -> tuple[list[str], dict[str, str]]:
    """Scans the raw data of a source once, and reports each snapshot that is new or changed.

    It waits for the source's marker, but not for its quiet time: the caller knows that the data are complete. Vanished
    snapshots are left to the sensor, which confirms them with a second scan.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        store: where its raw data are.

    Returns:
        The reported snapshots, and for each name that is not a valid snapshot the problem with it.
    """
    scan = scan_raw(source, store)
    return report(instance, source, present(source, scan)), scan.trouble


def forget(
    instance: dg.DagsterInstance,
    source: Source,
    lake: Store,
    below: Sequence[str],
    known: Mapping[str, str],
) -> list[str]:
    """Removes the keys of vanished snapshots, if everything that was made from them is empty.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        lake: the lake.
        below: addresses of all assets whose partitions are this source's snapshots.
        known: the last reported data version, by snapshot.

    Returns:
        The snapshots whose keys were removed.
    """
    name = snapshots_of(source.name).name or ""
    vanished = {key for key, version in known.items() if version == EMPTY}
    if not vanished:
        return []
    present_keys = sorted(vanished & set(instance.get_dynamic_partitions(name)))
    gone = [key for key in present_keys if all(_is_empty(lake, address, key) for address in below)]
    for key in gone:
        instance.delete_dynamic_partition(name, key)
    return gone


def _is_empty(lake: Store, address: str, snapshot: str) -> bool:
    partition = place(address, snapshot)
    ledger = read_head(lake, partition)
    return (ledger is None or not ledger.totals.get("shards")) and lake.head(partition.claim) is None
