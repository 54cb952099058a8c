"""The engine: where shards are ground, and with how many workers."""

from typing import Any, Literal

import dagster as dg
from pydantic import Field, PrivateAttr

from gristmill.stages.grinding import Engine, Inline
from resources.pool import LocalPool


class EngineResource(dg.ConfigurableResource[Any]):
    """Chosen by deployment, and by run in the launchpad. Workers stay from step to step, and end with the run.

    The processes of a machine are at most the runs at once (dagster.yaml) times the workers here.
    """

    kind: Literal["local", "inline"] = Field(
        default="local", description="local: worker processes on this machine; inline: none, for looking for faults."
    )
    workers: int = Field(default=2, ge=1, le=256, description="Worker processes of a run.")
    force: bool = Field(default=False, description="Grind every shard again, even where nothing changed.")

    _pool: LocalPool | None = PrivateAttr(default=None)

    def engine(self) -> Engine:
        """The engine of this run."""
        if self.kind == "inline":
            return Inline()
        if self._pool is None:
            self._pool = LocalPool(self.workers)
        return self._pool

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002 - Dagster's signature
        """Ends the workers."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
