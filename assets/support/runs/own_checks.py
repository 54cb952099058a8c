"""The checks that a run does which makes an asset."""

from collections.abc import Iterable

import dagster as dg


def own_checks(context: dg.SensorEvaluationContext, keys: Iterable[dg.AssetKey]) -> list[dg.AssetCheckKey]:
    """The checks that are done by what makes some assets: Dagster refuses a request without one of them.

    Audits are done by other definitions, and are left out.

    Args:
        context: context of the sensor that requests the run.
        keys: keys of the assets.
    """
    graph = context.repository_def.asset_graph  # type: ignore[union-attr]  # a sensor's context has it
    return [
        check
        for key in keys
        for check in sorted(graph.get(key).check_keys)
        if graph.assets_def_for_key(check) is graph.assets_def_for_key(key)
    ]
