"""Opens an engine by its kind: for Dagster's resource, the command line and plain Python alike."""

from typing import Protocol

from gristmill.engines.kinds import EngineKind, check_address, check_installed
from gristmill.execution.runner import Inline
from gristmill.execution.work import Engine


class OpenEngine(Engine, Protocol):
    """An engine that holds worker processes or a connection until it is closed."""

    def close(self) -> None:
        """Ends the workers of this machine, or the connection to a cluster."""


def open_engine(kind: EngineKind, workers: int = 1, address: str = "") -> OpenEngine:
    """Opens an engine; its caller closes it.

    Args:
        kind: `local` grinds in worker processes on this machine, `inline` in this process; `dask` and `ray` on a
            cluster.
        workers: processes of `local`.
        address: of the Dask scheduler or the Ray head.

    Returns:
        The engine; it connects or starts workers at its first job.

    Raises:
        RecipeError: the address of the cluster is missing, or does not fit its kind; or the
            package of the cluster is not installed.
    """
    check_address(kind, address, "the engine's address")
    check_installed(kind)
    match kind:
        case "inline":
            return Inline()
        case "dask":
            from gristmill.engines.dask import DaskEngine  # noqa: PLC0415 - commands start sooner without clusters

            return DaskEngine(address)
        case "ray":
            from gristmill.engines.ray import RayEngine  # noqa: PLC0415 - the same

            return RayEngine(address)
        case "local":
            from gristmill.engines.local import LocalPool  # noqa: PLC0415 - the same

            return LocalPool(workers)
