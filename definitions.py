"""The definitions of a deployment: `workspace.yaml` names this module, and Dagster loads it."""

import atexit
import gc
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.attributes import attribute_assets, carried_assets
from assets.checks import audit_checks, audit_jobs, audit_schedule
from assets.documents import adoption_assets, document_assets
from assets.duplicates import dedupe_assets, resolution_asset
from assets.exports import export_assets, export_index_asset
from assets.ids_across import across_check, across_schedule
from assets.jobs import jobs
from assets.lake import lake_asset, lake_schedule
from assets.mixes import mix_assets, mix_index_asset
from assets.models import folder_asset_of
from assets.packaged import rows_assets
from assets.pausing import pausing_jobs
from assets.previews import preview_asset
from assets.purge import purge_job, purge_schedule
from assets.raw import raw_spec
from assets.support.about import owners_of
from assets.support.code_references import CodeReferences
from assets.support.keys import address_of
from assets.support.progress import PROGRESS, progress_logger, to_output
from assets.support.step_graphs import define_steps, untangle_steps
from assets.support.step_ops import StepAssets
from assets.sync import sync_job
from assets.tokens.packing import packing_asset
from assets.tokens.token_caches import cache_index_asset, token_cache_assets
from assets.tokens.tokenizers import tokenizer_asset_of
from assets.watched_folders import watched_folder_jobs
from gristmill.environment import CHECKOUT, Environment, read_environment
from gristmill.installation import put_location_on_path
from gristmill.pipeline.foreseen import refused_without_packages
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.threads import prepare_struct_types
from resources.engine import engine_resource
from resources.fixed import FixedIOManager, FixedResource
from resources.lake import lake_resource
from resources.no_files import NoFiles
from sensors.alerts import alert_sensors
from sensors.automation import automation_sensor
from sensors.blocklists import blocklist_sensors
from sensors.last_readings import last_reading_sensor
from sensors.raw_arrivals import raw_arrival_sensors
from sensors.resolutions import resolution_sensors
from sensors.unstarted_runs import unstarted_sensor
from sensors.watched_folders import watched_folder_sensors

if TYPE_CHECKING:
    from dagster_aws.s3 import S3Resource

LOG = logging.getLogger("gristmill")


def steps_of(catalogue: Catalogue) -> list[StepAssets]:
    """The assets that steps make: their partitions are snapshots of a source, and they are made shard by shard."""
    steps: list[StepAssets] = []
    for source in catalogue.sources.values():
        steps += document_assets(source)
        sets = (attribute_assets(catalogue, source, version) for version in source.versions)
        steps += [each for each in sets if each is not None]
        for version in source.versions:
            steps += carried_assets(catalogue, source, version)
            steps += dedupe_assets(catalogue, source, version)
            steps += rows_assets(catalogue, source, version)
        steps += [adoption_assets(source, each.version, each.name) for each in source.adopted]
    for mix in catalogue.mixes.values():
        steps += mix_assets(mix)
        for tokenizer in catalogue.tokenizers_of_mix(mix):
            steps += token_cache_assets(mix, tokenizer)
        for export in catalogue.exports_of_mix(mix):
            steps += export_assets(mix, export)
    return untangle_steps(steps, catalogue)


def assets_of(
    catalogue: Catalogue, steps: Sequence[StepAssets], references: CodeReferences
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """All assets of a deployment, with references to their recipes."""
    raw = [references.of_spec(raw_spec(source)) for source in catalogue.sources.values()]
    others = [each.map_asset_specs(references.of_spec) for each in others_of(catalogue)]
    checks = {output.address: tuple(output.checks) for step in steps for output in step.outputs}
    lake = lake_asset(catalogue, checks, [address_of(key) for each in others for key in each.keys])
    return [lake, *raw, *define_steps(references.of_steps(steps), catalogue), *others]


def others_of(catalogue: Catalogue) -> list[dg.AssetsDefinition]:
    """The assets that steps do not make: indexes, packing plans, tokenizers, models, ..."""
    assets: list[dg.AssetsDefinition] = []
    for mix in catalogue.mixes.values():
        assets += [mix_index_asset(catalogue, mix), preview_asset(catalogue, mix)]
        assets += [cache_index_asset(catalogue, mix, tokenizer) for tokenizer in catalogue.tokenizers_of_mix(mix)]
        assets += [packing_asset(mix, tokenizer) for tokenizer in catalogue.tokenizers_of_mix(mix)]
        assets += [export_index_asset(catalogue, mix, export) for export in catalogue.exports_of_mix(mix)]
    owners = owners_of(catalogue.sources.values())
    assets += [folder_asset_of(labelled, owners) for labelled in catalogue.labels.values()]
    assets += [folder_asset_of(model, owners) for model in catalogue.models.values()]
    assets += [resolution_asset(catalogue, dedupe) for dedupe in catalogue.dedupes.values()]
    assets += [tokenizer_asset_of(catalogue, tokenizer) for tokenizer in catalogue.tokenizers.values()]
    return assets


def audits_of(catalogue: Catalogue, steps: Sequence[StepAssets]) -> dict[str, dg.AssetChecksDefinition]:
    """The audits of what steps make, by source."""
    claims: dict[str, dict[str, dict[str, str]]] = {}
    for step in steps:
        for output in step.outputs:
            claims.setdefault(step.source, {})[output.address] = output.checks
    return {source: audit_checks(catalogue.sources[source], each) for source, each in claims.items()}


def build(
    environment: Environment,
    catalogue: Catalogue,
    loggers: Mapping[str, dg.LoggerDefinition] | None = None,
    s3: "S3Resource | None" = None,
) -> dg.Definitions:
    """The definitions of a deployment.

    Args:
        environment: its settings.
        catalogue: the recipes.
        loggers: of its runs; None: Dagster's own, and one that runs of `gristmill run` name, so that they can be
            executed again from their pages.
        s3: the connection to the lake's bucket; None: as the environment says.
    """
    with warnings.catch_warnings():  # partitioned checks are a preview feature of the pinned Dagster
        warnings.filterwarnings("ignore", message="Specifying a partitions_def", category=dg.PreviewWarning)
        steps = steps_of(catalogue)
        folder = environment.project or str(CHECKOUT)
        assets = assets_of(catalogue, steps, CodeReferences(catalogue, folder, environment.code_url))
    outputs = {output.address: output for step in steps for output in step.outputs}
    common: dict[str, Any] = {
        "resources": {
            "lake": FixedResource(lake_resource(environment, s3), f"The lake {environment.lake}"),
            "engine": engine_resource(environment),
            "io_manager": FixedIOManager(NoFiles(), "None: ops hand on no values"),
        },
        "executor": dg.in_process_executor,
        "loggers": dict(loggers or {"console": dg.colored_console_logger, PROGRESS: progress_logger(to_output)}),
    }
    growing = [source for source in catalogue.sources.values() if source.snapshots == "accumulate"]
    audits = audits_of(catalogue, steps)
    without_engine = {name: each for name, each in common["resources"].items() if name != "engine"}
    bound = {"resource_defs": without_engine, "executor_def": common["executor"], "logger_defs": common["loggers"]}
    purge = purge_job(bound)
    return dg.Definitions(
        assets=assets,
        asset_checks=[*audits.values(), *map(across_check, growing)],
        jobs=[
            *jobs(catalogue, assets, common, more=environment.more_jobs),
            *audit_jobs(catalogue.sources, audits, bound, more=environment.more_jobs),
            *watched_folder_jobs(catalogue, environment.workers, bound),
            *pausing_jobs(catalogue, bound),
            sync_job(catalogue, outputs, bound),
            purge,
        ],
        schedules=[
            lake_schedule(),
            audit_schedule(),
            purge_schedule(purge),
            *([across_schedule(growing)] if growing else []),
        ],
        sensors=[
            *raw_arrival_sensors(catalogue, environment.interval),
            *blocklist_sensors(catalogue, environment.interval),
            *resolution_sensors(catalogue, environment.interval),
            automation_sensor(catalogue, environment.interval),
            unstarted_sensor(catalogue, environment.interval),
            *watched_folder_sensors(catalogue, environment.interval),
            *alert_sensors(environment, catalogue),
            last_reading_sensor({each: tuple(output.checks) for each, output in outputs.items()}, environment.interval),
        ],
        **common,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """The definitions that Dagster loads."""
    put_location_on_path()  # Dagster asks later than it imports us, and has set Python's path back meanwhile
    return _built(read_environment())


@cache
def _built(environment: Environment) -> dg.Definitions:
    """Builds the definitions once: Dagster asks for them several times in a process."""
    with _kept_for_good():
        catalogue = read_catalogue(environment.named_shelves())
        for asset, why in refused_without_packages(catalogue):
            LOG.warning("%s cannot be made: %s", asset, why)
        definitions = build(environment, catalogue)
    prepare_struct_types()  # Dagster's threads run sensors and checks
    return definitions


@contextmanager
def _kept_for_good() -> Iterator[None]:
    """Objects created here live for the whole process. They are frozen, so that the garbage collector skips them.

    Scanning them again and again took half of the load time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # some libraries look for leaks at the end of the process
        if collecting:
            gc.enable()
