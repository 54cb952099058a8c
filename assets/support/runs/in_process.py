"""Runs in this process that Dagster's pages list under their jobs, as it lists the runs that its daemon launches."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

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

    Returns:
        Dagster's result of the run.
    """
    keys = frozenset(selection) or None
    partitioned = job.get_tags_for_partition_key(partition, selection) if partition else {}
    origin: Any = dg.deserialize_value(json.dumps(_origin(job.name)))
    run = instance.create_run_for_job(
        job_def=job,
        run_config=config,
        tags={**job.run_tags, **partitioned, **process_tag()},
        asset_selection=keys,
        remote_job_origin=origin,
    )
    return execute_run(InMemoryJob(job), run, instance)


def _origin(job: str) -> dict[str, Any]:
    """Where a job comes from, in the form that Dagster stores with each run, and therefore keeps."""
    location = {"__class__": "RegisteredRepositoryLocationOrigin", "location_name": LOCATION}
    repository = {"repository_location_origin": location, "repository_name": REPOSITORY}
    repository["__class__"] = "ExternalRepositoryOrigin"
    return {"__class__": "ExternalPipelineOrigin", "external_repository_origin": repository, "pipeline_name": job}
