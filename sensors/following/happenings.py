"""What has happened in Dagster since some event: the assets that it concerns."""

from collections.abc import Iterator

import dagster as dg

from assets.support.keys import address_of
from assets.support.runs.backfills import ENDED
from sensors.alert_events import events_after

NEWEST = 100
"""How many backfills are looked at: their records name all partitions."""

_OF_ASSETS = (
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_OBSERVATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
)
_OF_RUNS = (
    dg.DagsterEventType.RUN_ENQUEUED,
    dg.DagsterEventType.RUN_STARTING,
    dg.DagsterEventType.RUN_START,
    dg.DagsterEventType.RUN_SUCCESS,
    dg.DagsterEventType.RUN_FAILURE,
    dg.DagsterEventType.RUN_CANCELING,
    dg.DagsterEventType.RUN_CANCELED,
)


def newest_event(instance: dg.DagsterInstance) -> int:
    """The storage id of the newest event of all runs; 0 without one."""
    return instance.event_log_storage.get_maximum_record_id() or 0


def changed_addresses(instance: dg.DagsterInstance, after: int) -> set[str]:
    """The addresses of the assets of which something was recorded after a storage id, and of the runs' that changed.

    Args:
        instance: Dagster's instance.
        after: the storage id.
    """
    keys = {
        record.asset_key
        for kind in _OF_ASSETS
        for record in events_after(instance, kind, after)
        if record.asset_key is not None
    }
    runs = {record.run_id for kind in _OF_RUNS for record in events_after(instance, kind, after)}
    for run in sorted(runs):
        keys.update(_planned(instance, run))
    return {address_of(key) for key in keys}


def _planned(instance: dg.DagsterInstance, run_id: str) -> Iterator[dg.AssetKey]:
    """The assets that a run was to make. A run of a whole job names none of them."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.asset_selection:
        yield from run.asset_selection
        return
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
    for entry in instance.event_log_storage.get_logs_for_run(run_id, of_type=kind):
        if entry.dagster_event and entry.dagster_event.asset_key:
            yield entry.dagster_event.asset_key


def unfinished_backfills(instance: dg.DagsterInstance) -> dict[str, list[str]]:
    """The addresses of the assets that each backfill makes which has not ended, by its id; of the newest backfills."""
    going = [each for each in instance.get_backfills(limit=NEWEST) if each.status.value not in ENDED]
    return {each.backfill_id: sorted(map(address_of, each.asset_selection or ())) for each in going}
