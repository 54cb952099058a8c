"""The automation sensors: one a source, one a mix, one for its tokens: no tick has to look at everything."""

import dagster as dg

from assets.support.keys import plain
from gristmill.environment import INTERVAL
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source


def automation_name(source: Source) -> str:
    """The automation sensor of a source."""
    return f"{source.name.replace('-', '_')}_automation"


def automation_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.AutomationConditionSensorDefinition]:
    """Sensors that make what is needed; so many seconds lie between two ticks of one."""
    groups = [source.name.replace("-", "_") for source in catalogue.sources.values()]
    groups += [f"{lead}_{plain(mix.name)}" for mix in catalogue.mixes.values() for lead in ("mix", "tokens")]
    return [
        dg.AutomationConditionSensorDefinition(
            name=f"{group}_automation",
            target=dg.AssetSelection.groups(group),
            minimum_interval_seconds=interval,
            default_status=dg.DefaultSensorStatus.RUNNING,
        )
        for group in groups
    ]
