"""The jobs `pause` and `resume`: a person holds what automation would request of some sources or mixes."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import dagster as dg

from assets.support.keys import choice_of
from gristmill.recipes.catalogue import Catalogue
from resources.pauses import pause_recipes, paused_names, unpause_recipes


def pausing_jobs(catalogue: Catalogue, bound: Mapping[str, Any]) -> list[dg.JobDefinition]:
    """The two jobs.

    Args:
        catalogue: the recipes. The launchpad offers their names, and refuses any other.
        bound: resources and loggers of the deployment, as Dagster's decorator of jobs takes them.
    """
    names = dict.fromkeys([*catalogue.sources, *catalogue.mixes, *catalogue.dedupes])
    held = "Nothing of these is requested by itself until the job `resume`; what runs goes on"
    goes_on = "What has changed meanwhile is requested at the next tick"
    named = choice_of("SourceMixOrDedupe", names)
    schema = {"names": dg.Field([named], description="Names of sources, mixes and dedupe recipes")}
    return [_job("pause", held, pause_recipes, schema, bound), _job("resume", goes_on, unpause_recipes, schema, bound)]


def _job(
    name: str,
    words: str,
    record: Callable[[dg.DagsterInstance, Collection[str]], None],
    schema: dict[str, Any],
    bound: Mapping[str, Any],
) -> dg.JobDefinition:
    @dg.op(name=f"{name}_automation", description=words, config_schema=schema)
    def change(context: dg.OpExecutionContext) -> None:
        record(context.instance, context.op_config["names"])
        context.log.info(f"paused now: {', '.join(sorted(paused_names(context.instance))) or 'nothing'}")

    @dg.job(name=name, description=words, **bound)
    def run() -> None:
        change()

    return run
