"""The engine resource: it decides where shards are ground, and with how many workers."""

from typing import Any

import dagster as dg
from dagster._core.definitions.definition_config_schema import DefinitionConfigSchema
from pydantic import Field, PrivateAttr

from gristmill.engines.kinds import EngineKind
from gristmill.engines.open import OpenEngine, open_engine
from gristmill.environment import MOST_WORKERS, Environment
from gristmill.errors import RecipeError
from gristmill.execution.work import Engine
from resources.plain_config import plain_field


class EngineResource(dg.ConfigurableResource[Any]):
    """The engine of a run: that of the deployment, unless its run configuration names another. It ends with the run.

    A machine has at most as many worker processes as concurrent runs (dagster.yaml) times `workers`. A cluster has its
    own workers; its address comes from the environment alone.

    Attributes:
        deployment: settings of the environment. To Dagster it is a dependency, which a run cannot configure.
    """

    deployment: dg.ResourceDependency[Environment]

    kind: EngineKind = Field(
        default="local",
        description="local: worker processes on this machine; inline: the process of the run, for debugging;"
        " dask, ray: the cluster at GRISTMILL_ENGINE_ADDRESS.",
    )
    workers: int = Field(default=2, description="Worker processes of a run with the engine local, 1 to 256.")
    force: bool = Field(default=False, description="Grind every shard again, even if nothing changed.")

    _engine: OpenEngine | None = PrivateAttr(default=None)

    @property
    def _config_schema(self) -> DefinitionConfigSchema:
        """What a run may give: values alone; see plain_config."""
        return DefinitionConfigSchema(plain_field(super()._config_schema.as_field()))

    def check(self) -> None:
        """Checks the values of the run configuration. As bounds of a field, they would fail a run before its first op.

        Raises:
            RecipeError: `workers` is out of its bounds.
        """
        if not 1 <= self.workers <= MOST_WORKERS:
            raise RecipeError(
                f"the run configuration: resources.engine.config.workers is {self.workers}; give 1 to {MOST_WORKERS}"
            )

    def engine(self) -> Engine:
        """The engine of this run.

        Raises:
            RecipeError: `workers` is out of its bounds, or the address of the cluster is missing or does not fit.
        """
        self.check()
        if self._engine is None:
            self._engine = open_engine(self.kind, self.workers, self.deployment.address)
        return self._engine

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002 - Dagster's signature
        """Ends the worker processes, or the connection to a cluster, when the run ends."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def engine_resource(environment: Environment) -> EngineResource:
    """The engine of this deployment."""
    return EngineResource(deployment=environment, kind=environment.engine, workers=environment.workers)
