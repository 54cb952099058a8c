"""Events of an asset that belong to no run, recorded many at once.

Dagster's report of a single event opens SQLite's databases several times. That takes ten milliseconds, and an hour for
a lake of a hundred thousand partitions. So these events are written as Dagster's storage in Postgres writes a batch.
"""

import json
import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import dagster as dg

MOST = 1_000
"""Number of events that are written together."""

RunlessEvent = dg.AssetMaterialization | dg.AssetObservation


def record_events(instance: dg.DagsterInstance, events: Sequence[RunlessEvent]) -> None:
    """Records events as Dagster's `report_runless_asset_event` does, many at once.

    If the process is killed, the first of them are recorded, perhaps some of these without their data versions. They
    are reported again, as a partition without a version is.

    Args:
        instance: Dagster's instance.
        events: events of one asset, and all of one type.
    """
    log: Any = instance.event_log_storage
    for first in range(0, len(events), MOST):
        some = events[first : first + MOST]
        if not hasattr(log, "prepare_insert_event_batch"):  # a storage that is no SQL database
            for event in some:
                instance.report_runless_asset_event(event)
            continue
        entries = [_entry(event) for event in some]
        table = log.prepare_insert_event_batch(entries[:1]).table
        # one statement for all rows: a statement that holds the rows is compiled anew each time, which takes longer
        insert = table.insert().returning(table.c.id, sort_by_parameter_order=True)
        with log.index_transaction() as connection:
            ids = [row[0] for row in connection.execute(insert, list(map(_row, entries, some)))]
        log.store_asset_event_tags(entries, ids)
        log.store_asset_event(entries[-1], ids[-1])  # what the asset's page shows as its newest event


def _entry(event: RunlessEvent) -> dg.EventLogEntry:
    """An event as Dagster's log has it."""
    kind, data = _data_of(made=isinstance(event, dg.AssetMaterialization))
    told = dg.DagsterEvent(event_type_value=kind, event_specific_data=data(event), job_name="")
    return dg.EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None,
        level=logging.INFO,
        user_message="",
        run_id="",
        timestamp=time.time(),
        step_key=None,
        job_name="",
        dagster_event=told,
    )


def _row(entry: dg.EventLogEntry, event: RunlessEvent) -> dict[str, Any]:
    """An event as a row of Dagster's table of events."""
    return {
        "run_id": "",
        "event": dg.serialize_value(entry),
        "dagster_event_type": entry.get_dagster_event().event_type_value,
        "timestamp": datetime.fromtimestamp(entry.timestamp, UTC).replace(tzinfo=None),
        "step_key": None,
        "asset_key": event.asset_key.to_string(),
        "partition": event.partition,
    }


@cache
def _data_of(*, made: bool) -> tuple[str, Any]:
    """The name of a materialization or an observation in Dagster's log, and the class of its data.

    Dagster does not export these classes. They are read in the form that Dagster stores, and therefore keeps.
    """
    if made:
        kind, name, field = dg.DagsterEventType.ASSET_MATERIALIZATION, "StepMaterializationData", "materialization"
    else:
        kind, name, field = dg.DagsterEventType.ASSET_OBSERVATION, "AssetObservationData", "asset_observation"
    example = dg.AssetMaterialization("example") if made else dg.AssetObservation("example")
    stored = {"__class__": name, field: json.loads(dg.serialize_value(example))}
    return kind.value, type(dg.deserialize_value(json.dumps(stored)))
