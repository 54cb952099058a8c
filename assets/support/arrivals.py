"""Raw arrivals: what lies under `raw/` as Dagster should see it; reported by the sensor, and by `sync`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import DagsterEventType

from assets.support.keys import key_of, snapshots_of
from gristmill.lake.address import place, raw_asset
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.scan import EMPTY, Seen, pass_over, present
from gristmill.recipes.source import Source

DATA_VERSION = "dagster/data_version"


def versions(instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Sequence[str] | None = None) -> dict[str, str]:
    """The data version last reported of each partition, in one query."""
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION], partitions
    )
    return {partition: each[DATA_VERSION] for partition, each in tags.items()}


def reported(instance: dg.DagsterInstance, source: str, snapshots: Sequence[str] | None = None) -> dict[str, str]:
    """The data version last reported, by snapshot: from Dagster's own record, and from no cursor."""
    return versions(instance, key_of(raw_asset(source)), snapshots)


def is_vanished(instance: dg.DagsterInstance, source: str, snapshot: str) -> bool:
    """Whether the last report said that nothing is left of a snapshot: then an empty folder is not a lost one."""
    return reported(instance, source, [snapshot]).get(snapshot) == EMPTY


def report(
    instance: dg.DagsterInstance, source: Source, due: dict[str, Seen], late: Callable[[], bool] = lambda: False
) -> list[str]:
    """Reports what is due: partitions, and a materialization each. What is left in `due` when it gets late is left.

    What is recorded already is not reported again: it would rebuild everything below.

    Returns:
        The snapshots that were reported.
    """
    known = reported(instance, source.name)
    for snapshot in [key for key, each in due.items() if known.get(key) == each.version]:
        del due[snapshot]
    if due:
        instance.add_dynamic_partitions(snapshots_of(source.name).name or "", sorted(due))
    done: list[str] = []
    for snapshot in sorted(due):
        if done and late():
            break
        seen = due.pop(snapshot)
        said: dict[str, Any] = {
            "asset_key": key_of(raw_asset(source.name)),
            "partition": snapshot,
            "metadata": {"objects": seen.objects, "bytes": seen.bytes},
            "tags": {DATA_VERSION: seen.version},
        }
        # Automation goes by the materialization. Whether v0 is shown as unsynced, Dagster 1.13 finds out from the
        # observations of what it does not make itself; the observation must be the earlier of the two.
        instance.report_runless_asset_event(dg.AssetObservation(**said))
        instance.report_runless_asset_event(dg.AssetMaterialization(**said))
        done.append(snapshot)
    return done


def report_arrivals(instance: dg.DagsterInstance, source: Source, store: Store) -> tuple[list[str], dict[str, str]]:
    """Reports every snapshot that is new or changed, from one whole pass, at once.

    It waits for the source's marker, but not for its quiet time: whoever calls this says that the data are there.
    What vanished is left to the sensor, which looks twice.

    Returns:
        The snapshots that were reported, and the trouble with names that make no valid one.
    """
    found = pass_over(source, store)
    return report(instance, source, present(source, found)), found.trouble


def forget(
    instance: dg.DagsterInstance,
    source: Source,
    lake: Store,
    below: Sequence[str],
    known: Mapping[str, str],
) -> list[str]:
    """Removes the keys of vanished snapshots, once everything that was made from them is empty.

    Args:
        instance: Dagster's.
        source: the recipe.
        lake: the lake.
        below: addresses of all assets that have this source's snapshots.
        known: the data version reported last, by snapshot.

    Returns:
        The snapshots whose keys went.
    """
    name = snapshots_of(source.name).name or ""
    vanished = {key for key, version in known.items() if version == EMPTY}
    if not vanished:
        return []
    here = sorted(vanished & set(instance.get_dynamic_partitions(name)))
    gone = [key for key in here if all(_is_empty(lake, address, key) for address in below)]
    for key in gone:
        instance.delete_dynamic_partition(name, key)
    return gone


def _is_empty(lake: Store, address: str, snapshot: str) -> bool:
    here = place(address, snapshot)
    ledger = read_head(lake, here)
    return (ledger is None or not ledger.totals.get("shards")) and lake.head(here.claim) is None
