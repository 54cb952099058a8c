"""The Ray engine: the workers of an existing cluster grind the shards.

It needs the package `ray` (the extra `ray`), on a machine that is a node of the cluster: docs/how-to/engines.md.
"""

import signal
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gristmill.engines.cluster import PATIENCE, SECONDS, Answer, ConnectionRefused, Lost, check_server, spread
from gristmill.engines.kinds import EngineKind
from gristmill.errors import StoreError
from gristmill.execution.remote import grind_bytes
from gristmill.execution.work import Done, Item, Job
from gristmill.extras import needs

if TYPE_CHECKING:
    from ray import ObjectRef

TRIES = 2
"""How often Ray itself starts a task before it reports the death of its workers."""


class RayEngine:
    """An Engine on a Ray cluster. It connects at its first job, and stays connected until close().

    A process has one connection to Ray. If other code has opened it already, the engine uses it and leaves it open.

    Args:
        address: address of the head: `host:6379`.
        patience: most seconds that the cluster may have no workers.
    """

    def __init__(self, address: str, *, patience: float = PATIENCE) -> None:
        self._address = address
        self._patience = patience
        self._ours = False

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        self._connect_ray()
        yield from spread(_Tasks(self._address), job, items, self._patience)

    def _connect_ray(self) -> None:
        import ray  # noqa: PLC0415 - an extra

        if ray.is_initialized():
            return
        check_server(self._address)
        try:
            with _keep_signal_handler():
                ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise StoreError(f"no Ray cluster lets us in at {self._address}: {error}") from error
        self._ours = True

    def close(self) -> None:
        """Ends the connection; the cluster continues to run."""
        if self._ours:
            import ray  # noqa: PLC0415 - an extra

            ray.shutdown()
            self._ours = False


@contextmanager
def _keep_signal_handler() -> Iterator[None]:
    """Restores the handler of SIGTERM, which Ray replaces: Dagster needs its own to end a run in good order."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


class _Tasks:
    """The cluster, for one call of map()."""

    def __init__(self, address: str) -> None:
        import ray  # noqa: PLC0415 - an extra

        self._ray = ray
        self._address = address
        self._grind: Any = ray.remote(grind_bytes).options(max_retries=TRIES - 1, num_cpus=1)

    def cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def send(self, job: bytes, items: bytes) -> "ObjectRef[bytes]":
        ref: ObjectRef[bytes] = self._grind.remote(job, items)
        return ref

    def wait(self, sent: Collection["ObjectRef[bytes]"], seconds: float) -> list[tuple["ObjectRef[bytes]", Answer]]:
        waiting = list(sent)
        ready, _ = self._ray.wait(waiting, num_returns=1, timeout=seconds)
        if ready:  # take all other answers that have arrived too
            ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [(ref, self._task_answer(ref)) for ref in ready]

    def _task_answer(self, ref: "ObjectRef[bytes]") -> Answer:
        from ray import exceptions  # noqa: PLC0415 - an extra

        try:
            answer: bytes = self._ray.get(ref, timeout=SECONDS)
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError) as error:
            return Lost(
                f"{TRIES} workers died over it ({type(error).__name__}), most often for want of memory; use fewer CPUs"
                f" per node, or smaller shards: {str(error).splitlines()[0]}"
            )
        except exceptions.RayTaskError as error:
            return ConnectionRefused(
                f"the Ray cluster could not run it ({error.cause!r}); nodes need this checkout on their PYTHONPATH, and"
                " the packages that it pins"
            )
        except exceptions.RayError as error:
            raise StoreError(f"the Ray cluster at {self._address} failed: {error}") from error
        return answer

    def drop(self, sent: Collection["ObjectRef[bytes]"]) -> None:
        for ref in sent:
            self._ray.cancel(ref, force=True)


RAY = EngineKind(
    name="ray",
    help="the Ray cluster at GRISTMILL_ENGINE_ADDRESS",
    open=lambda _, address: RayEngine(address),
    address=r"[^/\s]+:\d+",
    example="host:6379",
    needs=needs("ray"),
)
