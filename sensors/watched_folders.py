"""The sensors of watched folders: each requests a run when the files of its folder have changed and are complete."""

import time
from collections.abc import Callable

import dagster as dg

from assets.watched_folders import prepare_name
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.energon.watching.listing import dump_watch, load_watch, requested_state
from gristmill.energon.watching.prepare import open_watched
from gristmill.environment import INTERVAL
from gristmill.recipes.catalogue import Catalogue
from gristmill.reports.sizes import number_and_noun
from resources.lake import LakeResource
from resources.pages.news import with_news, without_news

BOX = 30.0
"""Longest time of a list in a tick, in seconds; the next tick continues."""
STATE = "gristmill/state"
"""The tag of a run that says for which recipe and files it was requested."""

_RUNS = 50
"""The newest runs of a folder's job that are looked at; those that a person has started have no state."""


def watched_folder_sensors(
    catalogue: Catalogue, interval: int = INTERVAL, box: float = BOX, now: Callable[[], float] = time.time
) -> list[dg.SensorDefinition]:
    """The sensors of all watched folders.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks.
        box: longest time of a list in a tick, in seconds.
        now: the clock, in seconds.
    """
    return [_sensor(folder, interval, box, now) for folder in catalogue.watched_folders.values()]


def _sensor(folder: WatchedFolder, interval: int, box: float, now: Callable[[], float]) -> dg.SensorDefinition:
    job = prepare_name(folder)

    @dg.sensor(
        name=f"{job}_when_changed",
        job_name=job,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests {job} when the files of {folder.path} have changed",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        began = time.monotonic()
        mind = load_watch(without_news(context.cursor), folder)
        seen = mind.look(
            folder, open_watched(folder, lake.lake()).open_dataset_store(), now, lambda: time.monotonic() - began > box
        )
        reason, state, files = f"the folder is being listed: {mind.seen.objects:,} files so far", "", 0
        if seen is not None:
            state, files = requested_state(folder, seen), seen.objects
            reason = _why_not(context.instance, folder, job, state, marked=seen.marked, files=seen.objects)
            if not reason and not mind.is_quiet(folder):
                reason = f"the files have changed; waits until they stay the same for {folder.quiet:g} s"
        if reason:
            return dg.SensorResult(skip_reason=reason, cursor=with_news(reason, dump_watch(mind)))
        news = f"requested 1 run: {folder.path} has changed, {number_and_noun(files, 'file')}"
        cursor = with_news(news, dump_watch(mind))
        return dg.SensorResult(run_requests=[dg.RunRequest(tags={STATE: state})], cursor=cursor)

    return watch


def _why_not(
    instance: dg.DagsterInstance, folder: WatchedFolder, job: str, state: str, *, marked: bool, files: int
) -> str:
    """Why no run is requested, whether or not the files stay the same; empty if one may be.

    Dagster's records of runs decide, not the cursor. So a lost cursor requests nothing twice.
    """
    if not files:
        return "no tar and no .jsonl file is there"
    if folder.marker and not marked:
        return f"waits for {folder.marker}"
    runs = instance.get_runs(dg.RunsFilter(job_name=job), limit=_RUNS)
    if any(not run.is_finished for run in runs):
        return "a run is preparing the folder"
    last = next((run for run in runs if STATE in run.tags), None)
    if last is None:
        return ""
    if last.tags[STATE] != state:
        return ""
    ended = "prepared it" if last.is_success else f"ended as {last.status.value}; it is not requested again by itself"
    return f"nothing new since run {last.run_id[:8]}, which {ended}"
