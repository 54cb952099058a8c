"""The common part of Dask and Ray: a bounded window of tasks on a cluster, and the results of items that fail.

A task is one item, or several small ones, because a cluster spends milliseconds on each task. If the workers of a task
die, the cluster itself tries again a few times. Then its items run once more, one at a time, after all others. So an
innocent item that shared a worker with a poisoned one succeeds, and the poisoned item fails by name.
"""

import socket
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

import msgspec

from gristmill.errors import StoreError
from gristmill.execution.remote import answers_of, remote_job
from gristmill.execution.work import Done, Failed, Item, Job, Outcome

A_CORE = 2
"""Open tasks per core: one is being ground, and one is ready when that is done."""

LEAST = 8
"""Least number of open tasks. A cluster that grows with its queue must see a queue, however few cores it has."""

SMALL = 1 << 20
"""Bytes of work that fill a task."""

MANY = 16
"""Most items of a task."""

TICK = 2.0
"""Seconds between two looks at the number of cores."""

PATIENCE = 600.0
"""Most seconds that a cluster may have no workers; new machines take minutes to start."""

SECONDS = 10
"""Seconds that a cluster may take to answer."""

Handle = TypeVar("Handle")


@dataclass(frozen=True)
class Lost:
    """The workers of the task died: of this task, or of another one on the same worker. `words` describe it."""

    words: str


@dataclass(frozen=True)
class ConnectionRefused:
    """The cluster could not start the task: its workers lack code or packages. `words` describe it."""

    words: str


Answer = bytes | Lost | ConnectionRefused


class Cluster(Protocol[Handle]):
    """The operations that a cluster must support. Each may raise StoreError: the cluster does not answer any more."""

    def cores(self) -> int:
        """The number of tasks that the cluster can run at the same time now."""

    def send(self, job: bytes, items: bytes) -> Handle:
        """Submits a task: `grind_bytes(job, items)`.

        Args:
            job: the job as JSON.
            items: the items as JSON.

        Returns:
            A handle for `wait` and `drop`.
        """

    def wait(self, sent: Collection[Handle], seconds: float) -> list[tuple[Handle, Answer]]:
        """The answers that have arrived.

        Args:
            sent: open tasks.
            seconds: most seconds to wait for the first answer; then the result is empty.
        """

    def drop(self, sent: Collection[Handle]) -> None:
        """Cancels tasks whose answers nobody needs any more."""


def check_server(address: str) -> None:
    """Checks that a server listens at an address. Without it the client of a cluster would try for a long time.

    Args:
        address: ends with `host:port`.

    Raises:
        StoreError: no server listens there.
    """
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()
    except OSError as error:
        raise StoreError(
            f"no cluster answers at {address}: {error}; start it, or correct the engine's address"
        ) from error


def spread(cluster: Cluster[Handle], job: Job, items: Iterable[Item], patience: float = PATIENCE) -> Iterator[Done]:
    """Grinds items on a cluster.

    Args:
        cluster: runs the tasks.
        job: job of the items.
        items: taken one after another when the window has room.
        patience: most seconds that the cluster may have no workers.

    Yields:
        The results, in the order in which they are finished.

    Raises:
        StoreError: the cluster does not answer any more, or has had no workers for `patience` seconds.
        RecipeError: a package of shelves cannot be imported.
    """
    window = _Window(cluster, remote_job(job), patience)
    lost: list[Item] = []
    with closing(window.run(items)) as answers:
        for task, answer in answers:
            if isinstance(answer, Lost):
                lost += task
            else:
                yield from _decode_task_answer(task, answer)
    for item in lost:
        for task, answer in window.run([item]):
            yield from _decode_task_answer(task, answer)


def _decode_task_answer(task: Sequence[Item], answer: Answer) -> Sequence[Done]:
    match answer:
        case Lost(words):
            kind = "StoreError"
        case ConnectionRefused(words):
            kind = "RecipeError"
        case _:
            return answers_of(answer)
    return [
        Done(item.name, item.weight, Outcome((), failed=(Failed(kind, f"shard {item.name}: {words}", name=item.name),)))
        for item in task
    ]


def _next_task_items(todo: Iterator[Item], most: int) -> list[Item]:
    """The next items that fill a task; empty at the end."""
    task: list[Item] = []
    for item in islice(todo, most):
        task.append(item)
        if sum(taken.weight for taken in task) >= SMALL:
            break
    return task


class _Window(Generic[Handle]):
    """Keeps a number of tasks open that follows the number of cores."""

    def __init__(self, cluster: Cluster[Handle], job: bytes, patience: float) -> None:
        self._cluster = cluster
        self._job = job
        self._patience = patience
        self._room = 0
        self._looked = float("-inf")
        self._manned = time.monotonic()

    def run(self, items: Iterable[Item]) -> Generator[tuple[list[Item], Answer], None, None]:
        """Tasks and their answers. When the caller stops reading, the open tasks are dropped."""
        todo = iter(items)
        sent: dict[Handle, list[Item]] = {}
        first = True  # the first tasks have one item each, so that every core gets one
        try:
            while True:
                self._update_core_count()
                while len(sent) < self._room and (task := _next_task_items(todo, 1 if first else MANY)):
                    sent[self._cluster.send(self._job, msgspec.json.encode(task))] = task
                first = False
                if not sent:
                    return
                for handle, answer in self._cluster.wait(sent, TICK):
                    yield sent.pop(handle), answer
        finally:
            if sent:
                self._cluster.drop(sent)

    def _update_core_count(self) -> None:
        now = time.monotonic()
        if now - self._looked < TICK:
            return
        cores = self._cluster.cores()
        self._looked = now
        self._room = max(LEAST, A_CORE * cores)
        if cores:
            self._manned = now
        elif now - self._manned > self._patience:
            raise StoreError(f"the cluster has had no workers for {now - self._manned:.0f} seconds; start some")
