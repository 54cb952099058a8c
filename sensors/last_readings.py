"""The sensor `last_readings`: audits that a run has planned and not done show their last reading again.

Each run that makes an asset shows the last readings of its audits itself (assets/support/step_ops.py). A run that was
canceled or has failed cannot: it has planned the audits, and Dagster shows nothing, or a failure, in the place of what
was read before.
"""

import json
import time
from collections.abc import Collection, Mapping

import dagster as dg

from assets.support.keys import address_of
from assets.support.last_reading import keep_shown, readings_of
from gristmill.environment import INTERVAL
from gristmill.errors import shorten
from gristmill.reports.sizes import number_and_noun
from resources.pages.news import with_news, without_news
from sensors.alert_events import events_after, newest_event_id
from sensors.ticks import Found, success_result

BOX = 15.0
"""Seconds after which a tick looks at no further run; the next tick continues."""

KINDS = (dg.DagsterEventType.RUN_CANCELED, dg.DagsterEventType.RUN_FAILURE)
"""How a run ends that leaves audits undone."""


def last_reading_sensor(
    checks: Mapping[str, Collection[str]], interval: int = INTERVAL, box: float = BOX
) -> dg.SensorDefinition:
    """The sensor.

    Args:
        checks: names of the blocking checks of each asset, by its address.
        interval: seconds between two ticks.
        box: seconds after which a tick looks at no further run.
    """

    @dg.sensor(  # type: ignore[arg-type]  # Dagster takes a list of any of its results
        name="last_readings",
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Shows the last readings of audits again that a canceled or failed run has planned",
    )
    def last_readings(context: dg.SensorEvaluationContext) -> dg.SkipReason | Found:
        after = _after(context.cursor)
        if after is None:
            after = {kind.value: newest_event_id(context.instance, kind) for kind in KINDS}
            told = "runs that end from now on are looked at"
            context.update_cursor(with_news(told, json.dumps(after)))
            return dg.SkipReason(told)
        end, ended = time.monotonic() + box, 0
        assets: set[str] = set()
        wrong: list[str] = []
        for kind in KINDS:
            for record in events_after(context.instance, kind, after[kind.value]):
                if time.monotonic() > end:
                    break
                ended += 1
                after[kind.value] = record.storage_id
                try:
                    assets |= _planned(context.instance, record.run_id, kind) & checks.keys()
                except Exception as error:  # noqa: BLE001 - one run that cannot be read must not stop the others
                    wrong.append(f"run {record.run_id[:8]}: {type(error).__name__}: {shorten(str(error), 200)}")
        for address in sorted(assets):
            keep_shown(context.instance, readings_of(address, checks[address]), wrong.append)
        told = _in_words(ended, len(assets))
        context.update_cursor(with_news(told, json.dumps(after)))
        for words in wrong:
            context.log.error(words)
        if not ended:
            return dg.SkipReason(told)
        context.log.info(told)
        return success_result()

    return last_readings


def _in_words(ended: int, assets: int) -> str:
    if not ended:
        return "nothing new: no run was canceled, and none has failed"
    return f"{number_and_noun(ended, 'run')} canceled or failed, of {number_and_noun(assets, 'asset')} with audits"


def _after(cursor: str | None) -> dict[str, int] | None:
    """By the kind of event, the storage id of the newest that was looked at; None for a cursor that cannot be read."""
    try:
        told = json.loads(without_news(cursor))
        return {kind.value: int(told[kind.value]) for kind in KINDS}
    except (ValueError, TypeError, KeyError):
        return None


def _planned(instance: dg.DagsterInstance, run: str, kind: dg.DagsterEventType) -> set[str]:
    """The addresses of the assets whose audits a run has planned, and would not do.

    An audit that was asked for and failed to read is left as it is: its page names the run, which says why.
    """
    of_assets, of_checks = (
        dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
        dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED,
    )
    wanted = {of_assets, of_checks} if kind is dg.DagsterEventType.RUN_CANCELED else {of_assets}
    planned = [each.dagster_event for each in instance.all_logs(run, of_type=wanted) if each.dagster_event]
    return {
        address_of(
            each.asset_check_planned_data.asset_key
            if each.event_type is of_checks
            else each.asset_materialization_planned_data.asset_key
        )
        for each in planned
    }
