"""The automation sensors: one for each source, each mix, its tokens and its exports, so that ticks stay short."""

import dagster as dg

from assets.duplicates import resolution_group
from assets.support.keys import plain
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
    groups = [source.name.replace("-", "_") for source in catalogue.sources.values()]
    groups += [f"{lead}_{plain(mix.name)}" for mix in catalogue.mixes.values() for lead in ("mix", "tokens")]
    groups += [f"exports_{plain(mix.name)}" for mix in catalogue.mixes.values() if catalogue.exports_of(mix)]
    groups += [resolution_group(dedupe) for dedupe in catalogue.dedupes.values()]
    return [
        dg.AutomationConditionSensorDefinition(
            name=f"{group}_automation",
            target=dg.AssetSelection.groups(group),
            minimum_interval_seconds=interval,
            default_status=dg.DefaultSensorStatus.RUNNING,
        )
        for group in groups
    ]
