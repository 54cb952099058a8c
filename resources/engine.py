"""The engine: where shards are ground, and with how many workers."""

from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from gristmill.engines.kinds import EngineKind
from gristmill.engines.open import OpenEngine, open_engine
from gristmill.environment import Environment
from gristmill.execution.work import Engine


class EngineResource(dg.ConfigurableResource[Any]):
    """Chosen by deployment, and by run in the launchpad. Workers and connections stay from step to step of a run.

    The processes of a machine are at most the runs at once (dagster.yaml) times the workers here; a cluster's workers
    are its own.
    """

    kind: EngineKind = Field(
        default="local",
        description="local: worker processes on this machine; inline: none, for looking for faults;"
        " dask, ray: the cluster at `address`.",
    )
    workers: int = Field(default=2, ge=1, le=256, description="Worker processes of a run; of a cluster, what it has.")
    address: str = Field(default="", description="tcp://host:8786 of a Dask scheduler, or host:6379 of a Ray head.")
    force: bool = Field(default=False, description="Grind every shard again, even where nothing changed.")

    _engine: OpenEngine | None = PrivateAttr(default=None)

    def engine(self) -> Engine:
        """The engine of this run.

        Raises:
            RecipeError: the address of the cluster is missing, or does not fit its kind.
        """
        if self._engine is None:
            self._engine = open_engine(self.kind, self.workers, self.address)
        return self._engine

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002 - Dagster's signature
        """Ends the workers of this machine, or the connection to a cluster."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def engine_resource(environment: Environment) -> EngineResource:
    """The engine of this deployment."""
    return EngineResource(kind=environment.engine, workers=environment.workers, address=environment.address)
