"""The Dask engine: the workers of an existing cluster grind the shards.

It needs the package `distributed` (the extra `dask`). Workers and scheduler need this checkout: docs/how-to/engines.md.
"""

import itertools
import queue
import uuid
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING

from gristmill.engines.cluster import PATIENCE, SECONDS, Answer, ConnectionRefused, Lost, check_server, spread
from gristmill.engines.kinds import EngineKind
from gristmill.errors import StoreError
from gristmill.execution.remote import grind_bytes
from gristmill.execution.work import Done, Item, Job
from gristmill.extras import needs

if TYPE_CHECKING:
    from distributed import Client, Future

GONE = (OSError, TimeoutError, CancelledError)
"""Errors that Dask raises, among others, if the scheduler does not answer any more."""


class DaskEngine:
    """An Engine on a Dask cluster. It connects at its first job, and stays connected until close().

    Args:
        address: address of the scheduler: `tcp://host:8786` or `tls://host:8786`.
        patience: most seconds that the cluster may have no workers.
    """

    def __init__(self, address: str, *, patience: float = PATIENCE) -> None:
        self._address = address
        self._patience = patience
        self._client: Client | None = None

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        yield from spread(_Futures(self._connect_client(), self._address, job.stage), job, items, self._patience)

    def _connect_client(self) -> "Client":
        from distributed import Client  # noqa: PLC0415 - an extra, and a second to import

        if self._client is not None and self._client.status != "running":
            self.close()
        if self._client is None:
            check_server(self._address)
            try:
                self._client = Client(self._address, timeout=SECONDS, set_as_default=False, name="gristmill")
            except (OSError, TimeoutError, ValueError) as error:  # ValueError: the server there is not Dask
                raise StoreError(f"no Dask scheduler lets us in at {self._address}: {error}") from error
        return self._client

    def close(self) -> None:
        """Ends the connection; the cluster continues to run."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(*GONE):
                client.close(timeout=SECONDS)


class _Futures:
    """The cluster, for one call of map()."""

    def __init__(self, client: "Client", address: str, stage: str) -> None:
        self._client = client
        self._address = address
        self._ready: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._names = (f"{stage}-{uuid.uuid4().hex}-{number}" for number in itertools.count())

    def cores(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except GONE as error:
            raise self._lost_cluster_error(error) from error

    def send(self, job: bytes, items: bytes) -> "Future":
        try:
            future = self._client.submit(grind_bytes, job, items, key=next(self._names), pure=False)
        except (*GONE, RuntimeError) as error:  # RuntimeError: the client has closed itself
            raise self._lost_cluster_error(error) from error
        future.add_done_callback(self._ready.put)
        return future

    def wait(self, sent: Collection["Future"], seconds: float) -> list[tuple["Future", Answer]]:
        del sent  # every future puts itself into the queue
        ready: list[Future] = []
        with suppress(queue.Empty):
            ready.append(self._ready.get(timeout=seconds))
            while True:
                ready.append(self._ready.get_nowait())
        if self._client.status == "closed":
            raise self._lost_cluster_error("the connection was lost")
        try:
            finished = {future: future for future in ready if future.status == "finished"}
            results = self._client.gather(finished, errors="skip") if finished else {}
        except GONE as error:
            raise self._lost_cluster_error(error) from error
        answers = [(future, results.get(future) or self._failed_answer(future)) for future in ready]
        done = [(future, answer) for future, answer in answers if answer is not None]
        for future, _ in done:
            future.release()  # otherwise Dask repeats the task if the worker that holds its result dies
        return done

    def _failed_answer(self, future: "Future") -> Answer | None:
        """Why there is no result; None if the result was lost with a worker, because Dask then repeats the task."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra

        if future.status == "cancelled":
            raise self._lost_cluster_error("it has dropped an item")
        if future.status != "error":
            future.add_done_callback(self._ready.put)
            return None
        error = future.exception(timeout=SECONDS)
        if isinstance(error, KilledWorker):
            return Lost(
                f"{error.allowed_failures + 1} workers died over it, most often for want of memory; use fewer workers"
                " per machine, or smaller shards; the log of the worker has more"
            )
        return ConnectionRefused(
            f"the Dask cluster could not run it ({type(error).__name__}: {error}); scheduler and workers need this"
            " checkout on their PYTHONPATH, and the packages that it pins"
        )

    def drop(self, sent: Collection["Future"]) -> None:
        with suppress(*GONE, RuntimeError):
            self._client.cancel(list(sent), force=True)

    def _lost_cluster_error(self, error: object) -> StoreError:
        return StoreError(f"the Dask scheduler at {self._address} does not answer any more: {error}")


DASK = EngineKind(
    name="dask",
    help="the Dask cluster at GRISTMILL_ENGINE_ADDRESS",
    open=lambda _, address: DaskEngine(address),
    address=r"(tcp|tls)://[^/\s]+:\d+",
    example="tcp://host:8786 or tls://host:8786",
    needs=needs("distributed"),
)
