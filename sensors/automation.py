"""The automation sensors: one for each source, each mix, its tokens and its exports, so that ticks stay short."""

import dagster as dg

from assets.duplicates import resolution_group
from assets.support.keys import plain
from assets.support.runs.tags import MIX, SOURCE
from gristmill.environment import INTERVAL
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source


def automation_name(source: Source) -> str:
    """Name of the automation sensor of a source."""
    return f"{source.name.replace('-', '_')}_automation"


def automation_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.AutomationConditionSensorDefinition]:
    """The sensors that request assets by their automation conditions.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks of a sensor.
    """
    groups = {source.name.replace("-", "_"): {SOURCE: source.name} for source in catalogue.sources.values()}
    for mix in catalogue.mixes.values():
        leads = ["mix", "tokens", *(["exports"] if catalogue.exports_of(mix) else [])]
        groups |= {f"{lead}_{plain(mix.name)}": {MIX: mix.name} for lead in leads}
    groups |= {resolution_group(dedupe): {"gristmill/dedupe": dedupe.name} for dedupe in catalogue.dedupes.values()}
    return [
        dg.AutomationConditionSensorDefinition(
            name=f"{group}_automation",
            target=dg.AssetSelection.groups(group),
            minimum_interval_seconds=interval,
            default_status=dg.DefaultSensorStatus.RUNNING,
            run_tags=tags,
        )
        for group, tags in groups.items()
    ]
