"""Jobs that prepare watched folders for Megatron-Energon: one for each folder."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.support.facts.tables import warnings_metadata
from assets.support.keys import plain_name
from assets.support.report import convert_errors
from gristmill.energon.preparing.flaw import Flaw
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.energon.watching.prepare import open_watched, prepare_folder
from gristmill.recipes.catalogue import Catalogue
from resources.lake import LakeResource


def prepare_name(folder: WatchedFolder) -> str:
    """The name of the job that prepares a folder."""
    return f"{plain_name(folder.name)}_prepare"


def watched_folder_jobs(catalogue: Catalogue, workers: int, bound: Mapping[str, Any]) -> list[dg.JobDefinition]:
    """The jobs of all watched folders.

    Args:
        catalogue: the recipes.
        workers: number of processes of a run.
        bound: resources and loggers of the deployment, as Dagster's decorator of jobs takes them.
    """
    return [_job(folder, workers, bound) for folder in catalogue.watched_folders.values()]


def _job(folder: WatchedFolder, workers: int, bound: Mapping[str, Any]) -> dg.JobDefinition:
    words = folder.description or f"Prepares {folder.path} for Megatron-Energon"

    @dg.op(name=f"prepare_{plain_name(folder.name)}", description=words, pool="prepare")
    def prepare(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        def tell(flaw: Flaw) -> None:
            (context.log.warning if flaw.warning else context.log.error)(str(flaw))

        with convert_errors(lake):
            done = prepare_folder(folder, open_watched(folder, lake.lake()), workers, tell)
        found = f"{done.files:,} files, {done.samples:,} samples, {done.media:,} media files"
        context.log.info(f"{folder.path} is prepared: {found}")
        context.add_output_metadata(
            {
                "files": done.files,
                "samples": done.samples,
                "media files": done.media,
                **warnings_metadata(map(str, done.warnings)),
            }
        )

    @dg.job(name=prepare_name(folder), description=words, **bound)
    def run() -> None:
        prepare()

    return run
