"""The result of a tick that has done something, though it has requested no run."""

from dagster._core.definitions.run_request import DagsterRunReaction
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID
from dagster._core.storage.dagster_run import DagsterRun


def found() -> list[DagsterRunReaction]:
    """The result of such a tick: "success".

    Dagster 1.13 records a tick without run requests as skipped, unless it is the reaction to a run. This is the
    reaction to the run without an id, to which Dagster counts all events that no run has made.
    """
    return [DagsterRunReaction(DagsterRun(job_name=RUNLESS_JOB_NAME, run_id=RUNLESS_RUN_ID), None, None)]
