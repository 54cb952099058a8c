"""Everything, named once: what `workspace.yaml` points Dagster at."""

import warnings
from collections.abc import Mapping
from functools import cache

import dagster as dg

from assets.attributes import attribute_assets
from assets.documents import document_assets
from assets.ids_across import across_check, across_schedule
from assets.jobs import jobs
from assets.mixes import mix_assets
from assets.raw import raw_spec
from assets.sync import sync_job
from assets.token_caches import token_cache_assets
from assets.tokenizers import tokenizer_asset_of
from gristmill.catalogue import Catalogue, read_catalogue
from resources.engine import EngineResource
from resources.environment import Environment, read_environment
from resources.lake import lake_resource
from sensors.automation import automation_sensors
from sensors.raw_arrivals import raw_arrival_sensors


def assets_of(catalogue: Catalogue) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition | dg.AssetSpec]:
    """The assets of all shelves, and the audits of their checks."""
    found: list[dg.AssetsDefinition | dg.AssetChecksDefinition | dg.AssetSpec] = []
    for source in catalogue.sources.values():
        found.append(raw_spec(source))
        found += document_assets(source)
        if source.snapshots == "accumulate":
            found.append(across_check(source))
        for version in source.versions:
            found += attribute_assets(catalogue, source, version)
    for mix in catalogue.mixes.values():
        found += mix_assets(catalogue, mix)
        for tokenizer in catalogue.tokenizers_of(mix):
            found += token_cache_assets(catalogue, mix, tokenizer)
    found += [tokenizer_asset_of(catalogue, tokenizer) for tokenizer in catalogue.tokenizers.values()]
    return found


def build(
    environment: Environment, catalogue: Catalogue, loggers: Mapping[str, dg.LoggerDefinition] | None = None
) -> dg.Definitions:
    """The definitions of a deployment."""
    with warnings.catch_warnings():  # partitioned checks are a preview; Dagster is pinned to a version that has them
        warnings.filterwarnings("ignore", message="Specifying a partitions_def", category=dg.PreviewWarning)
        assets = assets_of(catalogue)
    growing = [source for source in catalogue.sources.values() if source.snapshots == "accumulate"]
    return dg.Definitions(
        assets=[each for each in assets if not isinstance(each, dg.AssetChecksDefinition)],
        asset_checks=[each for each in assets if isinstance(each, dg.AssetChecksDefinition)],
        jobs=[*jobs(catalogue), sync_job(catalogue)],
        schedules=[across_schedule(growing)] if growing else [],
        sensors=[*raw_arrival_sensors(catalogue), *automation_sensors(catalogue)],
        resources={"lake": lake_resource(environment), "engine": EngineResource(workers=environment.workers)},
        executor=dg.in_process_executor,
        loggers=dict(loggers) if loggers else None,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return _built(read_environment())


@cache
def _built(environment: Environment) -> dg.Definitions:
    """Dagster asks more than once in a process."""
    return build(environment, read_catalogue(environment.shelves))
