"""The job `purge`: it removes old runs, their event logs and old ticks from Dagster's database, by age."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
from pydantic import Field

from assets.support.report import convert_errors
from assets.support.runs.backfills import going_backfills
from assets.support.runs.tags import BACKFILL
from resources.lake import LakeResource
from resources.plain_config import plain_schema, read_config

LAST = 100
"""Number of the newest runs of each job that are kept, however old: sensors compare with them."""

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class PurgeRequest(dg.Config):
    """Run configuration of the purge."""

    run_days: int = Field(
        default=90, ge=1, le=36_500, description="Runs that ended more days ago are removed, with their logs."
    )
    tick_days: int = Field(default=30, ge=1, le=36_500, description="Ticks that are more days old are removed.")
    only_count: bool = Field(default=False, description="Only say how many runs would be removed.")


class Purged(NamedTuple):
    """What a purge has removed, and the old runs that it has kept."""

    removed: int
    newest: int
    last: int


def purge_job(bound: Mapping[str, Any]) -> dg.JobDefinition:
    """The job. Its schedule is off until a person switches it on.

    Args:
        bound: resources and loggers of the deployment, as Dagster's decorator of jobs takes them.
    """

    @dg.op(
        config_schema=plain_schema(PurgeRequest),
        description="Removes old runs, except those that hold the newest materialization of a partition.",
    )
    def remove_old(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        with convert_errors(lake):
            config = read_config(PurgeRequest, context.op_config)
        now = datetime.now(UTC)
        before = now - timedelta(days=config.run_days)
        purged = purge_runs(context.instance, before, context.log.info, only_count=config.only_count)
        if not config.only_count:
            purge_ticks(context.instance, now - timedelta(days=config.tick_days))
        words = "would be removed" if config.only_count else "removed"
        context.log.info(f"{purged.removed} runs {words}; {purged.newest} hold what Dagster shows of a partition")
        context.add_output_metadata(
            {
                f"runs {words}": purged.removed,
                "kept: newest materialization of a partition": purged.newest,
                f"kept: newest {LAST} of a job": purged.last,
            }
        )

    words = "Removes old runs, event logs and ticks from Dagster's database, by age"

    @dg.job(name="purge", description=words, **bound)
    def purge() -> None:
        remove_old()

    return purge


def purge_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """The schedule that purges every week, hours after the audits. A person switches it on in the UI."""
    return dg.ScheduleDefinition(job=job, name="purge_weekly", cron_schedule="41 9 * * 0")


def purge_runs(
    instance: dg.DagsterInstance,
    before: datetime,
    say: Callable[[str], object],
    *,
    only_count: bool = False,
    kept: int = LAST,
) -> Purged:
    """Removes runs that have ended, with their events.

    A run is kept if it holds the newest materialization of an asset's partition. Without that event Dagster would show
    the partition as missing, and automation would request it. A run of a backfill that has not ended is kept: Dagster
    counts the failed ones. The newest runs of each job are kept, too.

    Args:
        instance: Dagster's.
        before: runs that changed after this time are kept.
        say: function that takes a line now and then.
        only_count: whether nothing is removed.
        kept: number of the newest runs of each job that are kept.

    Returns:
        The number of runs that were removed, and those of old runs that were kept.
    """
    newest: dict[tuple[dg.AssetKey, str | None], str] = {}
    last: dict[str, set[str]] = {}
    removed = holding = recent = 0
    going = going_backfills(instance)
    old = instance.get_run_ids(filters=dg.RunsFilter(statuses=_ENDED, updated_before=before))
    for number, run_id in enumerate(old):
        run = instance.get_run_by_id(run_id)
        if run is None:
            continue
        if run.job_name not in last:
            runs = instance.get_run_ids(dg.RunsFilter(job_name=run.job_name), limit=kept) if kept else ()
            last[run.job_name] = set(runs)
        if run_id in last[run.job_name]:
            recent += 1
        elif run.tags.get(BACKFILL) in going or _holds_newest(instance, run_id, newest):
            holding += 1
        else:
            removed += 1
            if not only_count:
                _remove(instance, run_id)
        if number % 1000 == 999:
            say(f"{number + 1} of {len(old)} old runs are looked at")
    return Purged(removed, holding, recent)


def _remove(instance: dg.DagsterInstance, run_id: str) -> None:
    """Removes a run: its events first. If this process is killed in between, the next purge still finds the run."""
    log = instance.event_log_storage
    log.delete_events(run_id)
    instance.delete_run(run_id)
    file = getattr(log, "path_for_shard", None)  # SQLite's, which would keep an empty file of each run
    if file is not None:
        Path(file(run_id)).unlink(missing_ok=True)


def _holds_newest(instance: dg.DagsterInstance, run_id: str, newest: dict[tuple[dg.AssetKey, str | None], str]) -> bool:
    """Whether a run holds the newest materialization of a partition. `newest` keeps what was looked up."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event = entry.asset_materialization
        if event is None:
            continue
        where = (event.asset_key, event.partition)
        if where not in newest:
            partitions = [event.partition] if event.partition is not None else None
            wanted = dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=partitions)
            found = instance.fetch_materializations(wanted, limit=1).records
            newest[where] = found[0].run_id if found else ""
        if newest[where] == run_id:
            return True
    return False


def purge_ticks(instance: dg.DagsterInstance, before: datetime) -> None:
    """Removes the ticks of all sensors and schedules that are older; `retention` of dagster.yaml may remove more."""
    for state in instance.all_instigator_state():
        instance.purge_ticks(state.instigator_origin_id, state.selector_id, before.timestamp())
