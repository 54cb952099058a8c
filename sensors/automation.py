"""The automation sensors: one a source and one for mixes, so that no tick has to look at everything."""

import dagster as dg

from assets.keys import plain
from gristmill.catalogue import Catalogue

INTERVAL = 30


def automation_sensors(catalogue: Catalogue) -> list[dg.AutomationConditionSensorDefinition]:
    """Sensors that make what is needed."""
    groups = [source.name.replace("-", "_") for source in catalogue.sources.values()]
    groups += [f"mix_{plain(mix.name)}" for mix in catalogue.mixes.values()]
    return [
        dg.AutomationConditionSensorDefinition(
            name=f"{group}_automation",
            target=dg.AssetSelection.groups(group),
            minimum_interval_seconds=INTERVAL,
            default_status=dg.DefaultSensorStatus.RUNNING,
        )
        for group in groups
    ]
