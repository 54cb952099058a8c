"""The raw-arrival sensor: what lies under `raw/` becomes partitions, and events where a snapshot changed."""

import time

import dagster as dg

from assets.arrivals import report_arrivals
from gristmill.catalogue import Catalogue
from gristmill.lake.address import raw_asset
from gristmill.lake.store import open_store
from gristmill.stages.conversion import Source
from resources.lake import LakeResource
from sensors.automation import automation_name

INTERVAL = 30
STILL = 300
"""Seconds without a heartbeat after which no daemon is taken to run."""


def is_awake(instance: dg.DagsterInstance, automation: str) -> bool:
    """Whether an automation sensor would notice a report.

    The very first tick of an automation sensor takes whatever lies behind it for known: a change that is reported
    before it would never be followed. Where no daemon runs, or the sensor is switched off, nothing
    is waited for.
    """
    beat = instance.get_daemon_heartbeats().get("ASSET")
    if beat is None or time.time() - beat.timestamp > STILL:
        return True
    states = [state for state in instance.all_instigator_state() if state.name == automation]
    if not states:
        return False
    cursors = [getattr(state.instigator_data, "cursor", None) for state in states]
    return not any(state.is_running for state in states) or any(cursors)


def raw_arrival_sensor(source: Source) -> dg.SensorDefinition:
    """The sensor of one source."""

    @dg.sensor(
        name=f"{source.name.replace('-', '_')}_raw_arrivals",
        minimum_interval_seconds=INTERVAL,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Watches the raw snapshots of {source.name}",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason:
        if not is_awake(context.instance, automation_name(source)):
            return dg.SkipReason("waits for the first tick of the source's automation")
        held = open_store(source.raw, lake.lake().options) if source.raw else lake.store()
        changed, trouble = report_arrivals(context.instance, source, held)
        for name, wrong in trouble.items():
            context.log.warning(f"{raw_asset(source.name)}/{name} is skipped: {wrong}")
        return dg.SkipReason(f"{', '.join(changed)} reported" if changed else "nothing new")

    return watch


def raw_arrival_sensors(catalogue: Catalogue) -> list[dg.SensorDefinition]:
    """A sensor a watched source."""
    return [raw_arrival_sensor(source) for source in catalogue.sources.values() if source.watched]
