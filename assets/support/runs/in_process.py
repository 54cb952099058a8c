"""Runs in this process that Dagster's pages list under their jobs, as it lists the runs that its daemon launches."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from resources.run_process import process_tag

LOCATION, REPOSITORY = "gristmill", "__repository__"
"""The names of the code location in `workspace.yaml`, and of the only repository in it."""


def execute_in_process(
    instance: dg.DagsterInstance,
    job: dg.JobDefinition,
    partition: str | None,
    config: Mapping[str, Any],
    selection: Sequence[dg.AssetKey] = (),
) -> dg.JobExecutionResult:
    """Executes a job in this process, and records of which job in which code location the run is, and which process.

    `JobDefinition.execute_in_process` records no origin. Dagster's timeline, job pages and status bars look for runs by
    their origin, so they would say that nothing ran.

    Args:
        instance: Dagster's instance.
        job: the job.
        partition: key of the partition; it must be registered. None for a job without partitions.
        config: the run configuration.
        selection: the assets to make; empty: all of the job.
    """
    keys = frozenset(selection) or None
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(LOCATION), REPOSITORY)
    partitioned = job.get_tags_for_partition_key(partition, selection) if partition else {}
    run = instance.create_run_for_job(
        job_def=job,
        run_config=config,
        tags={**job.run_tags, **partitioned, **process_tag()},
        asset_selection=keys,
        remote_job_origin=RemoteJobOrigin(origin, job.name),
    )
    return execute_run(InMemoryJob(job), run, instance)
