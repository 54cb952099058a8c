"""The engine resource: it decides where shards are ground, and with how many workers."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import dagster as dg

from gristmill.engines.kinds import ENGINES, open_engine
from gristmill.environment import MOST_WORKERS, Environment
from gristmill.errors import RecipeError
from gristmill.execution.work import Engine, OpenEngine


class EngineChoice(NamedTuple):
    """What a run may choose.

    Attributes:
        kind: name of the kind of engine.
        workers: number of worker processes of the engine local.
        force: whether every shard is ground again, even if nothing changed.
    """

    kind: str
    workers: int
    force: bool


class RunEngine:
    """The engine of a run: that of the deployment, unless its run configuration names another. It ends with the run.

    A machine has at most as many worker processes as concurrent runs (dagster.yaml) times `workers`. A cluster has its
    own workers; its address comes from the environment alone.

    Args:
        choice: options that the run has chosen.
        address: address of the cluster; other engines need none.
    """

    def __init__(self, choice: EngineChoice, address: str) -> None:
        self.choice, self.address = choice, address
        self._engine: OpenEngine | None = None

    @property
    def force(self) -> bool:
        """Whether every shard is ground again, even if nothing changed."""
        return self.choice.force

    def engine(self) -> Engine:
        """The engine of this run.

        Raises:
            RecipeError: the address of the cluster is missing or does not fit.
        """
        if self._engine is None:
            self._engine = open_engine(self.choice.kind, self.choice.workers, self.address)
        return self._engine

    def close(self) -> None:
        """Ends the worker processes, or the connection to a cluster."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def engine_resource(environment: Environment) -> dg.ResourceDefinition:
    """The engine of this deployment.

    Dagster has no bounds of numbers in the schema of a run configuration. So the values pass a function that refuses
    them. Dagster calls it before it creates a run, whoever launches it. The launchpad's own check is in
    resources/pages/launchpad.py.
    """

    def open_for_run(context: dg.InitResourceContext) -> Iterator[RunEngine]:
        engine = RunEngine(EngineChoice(**context.resource_config), environment.address)
        try:
            yield engine
        finally:
            engine.close()

    resource = dg.resource(config_schema=dict)(open_for_run)
    checked: dg.ResourceDefinition = dg.configured(resource, config_schema=_schema(environment))(check_choice)
    return checked


def _schema(environment: Environment) -> dict[str, dg.Field]:
    known: dict[str, str] = {}
    for name in ENGINES.names:
        with suppress(RecipeError):  # a plug-in that cannot be loaded: `gristmill plugins` tells it
            known[name] = ENGINES.load(name).help
    kinds = dg.Enum("Engine", [dg.EnumValue(name, description=words) for name, words in known.items()])
    said = "; ".join(f"{name}: {words}" for name, words in known.items())
    workers = f"Worker processes of a run with the engine local, 1 to {MOST_WORKERS}."
    force = "Grind every shard again, even if nothing changed."
    return {
        "kind": dg.Field(kinds, default_value=environment.engine, description=f"{said}."),
        "workers": dg.Field(int, default_value=environment.workers, description=workers),
        "force": dg.Field(bool, default_value=False, description=force),
    }


def check_choice(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks the bounds of what a run has chosen; Dagster has checked names and types. Returns the values unchanged.

    Args:
        choice: chosen values by the name of a field of EngineChoice.

    Raises:
        RecipeError: `workers` is out of its bounds.
    """
    workers = choice["workers"]
    if not 1 <= workers <= MOST_WORKERS:
        raise RecipeError(
            f"the run configuration: resources.engine.config.workers is {workers}; give 1 to {MOST_WORKERS}"
        )
    return choice
