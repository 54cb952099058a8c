"""The jobs `pause` and `resume`: a person holds what automation would request of some sources or mixes."""

from collections.abc import Callable, Collection

import dagster as dg
from pydantic import Field

from assets.support.pauses import pause, paused, resume
from gristmill.errors import known_names
from gristmill.recipes.catalogue import Catalogue
from resources.plain_config import plain_schema, read_config


class PausingConfig(dg.Config):
    """What the launchpad asks for."""

    names: list[str] = Field(description="Names of sources, mixes and dedupe recipes")


def pausing_jobs(catalogue: Catalogue) -> list[dg.JobDefinition]:
    """The two jobs.

    Args:
        catalogue: the recipes. The jobs refuse any other name.
    """
    names = [*catalogue.sources, *catalogue.mixes, *catalogue.dedupes]
    held = "Nothing of these is requested by itself until the job `resume`; what runs goes on"
    goes_on = "What has changed meanwhile is requested at the next tick"
    return [_job("pause", held, pause, names), _job("resume", goes_on, resume, names)]


def _job(
    name: str, words: str, record: Callable[[dg.DagsterInstance, Collection[str]], None], names: Collection[str]
) -> dg.JobDefinition:
    @dg.op(name=f"{name}_automation", description=words, config_schema=plain_schema(PausingConfig))
    def change(context: dg.OpExecutionContext) -> None:
        asked = read_config(PausingConfig, context.op_config).names
        for unknown in sorted(set(asked) - set(names)):
            raise dg.Failure(
                description=f"{unknown} is no source, mix or dedupe recipe; {known_names(unknown, names)}",
                allow_retries=False,
            )
        record(context.instance, asked)
        context.log.info(f"paused now: {', '.join(sorted(paused(context.instance))) or 'nothing'}")

    @dg.job(name=name, description=words)
    def run() -> None:
        change()

    return run
