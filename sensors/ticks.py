"""The result of a tick that has done something, though it has requested no run."""

from dagster import DagsterRun
from dagster._core.definitions.run_request import DagsterRunReaction

Found = list[DagsterRunReaction]
"""What a sensor returns for such a tick."""


def found() -> Found:
    """The result of such a tick: "success".

    Dagster 1.13 records a tick without run requests as skipped, unless it is the reaction to a run. This is the
    reaction to the run without an id, to which Dagster counts all events that no run has made.
    """
    return [DagsterRunReaction(DagsterRun(job_name="", run_id=""), None, None)]
