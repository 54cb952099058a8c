"""What Dask and Ray have in common: a bounded window of tasks on a cluster, and what is said of items that fail.

A task is one item, or several small ones, so that a cluster's milliseconds a task do not count. An item whose workers
die is tried as often as the cluster does by itself, then again when everything else is done, with nothing else of
this map beside it: what happened to be on the same worker as a poisoned item comes through, and the poisoned one
fails by name.
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
from gristmill.execution.remote import answers_of, errand
from gristmill.execution.work import Done, Failed, Item, Job, Outcome

A_CORE = 2
"""Tasks under way a core: one that is ground, one that is there when it is done."""

LEAST = 8
"""Tasks under way however few cores there are: a cluster that grows by what waits must see something wait."""

SMALL = 1 << 20
"""Bytes of work that are worth a task of their own."""

MANY = 16
"""Items in a task at most."""

TICK = 2.0
"""Seconds after which one looks how many cores there are."""

PATIENCE = 600.0
"""Seconds that a cluster may be without any worker; machines take minutes to come."""

SECONDS = 10
"""How long a cluster may take to answer."""

Handle = TypeVar("Handle")


@dataclass(frozen=True)
class Lost:
    """The task's workers died over it, or over what was on them beside it."""

    words: str


@dataclass(frozen=True)
class Refused:
    """The cluster could not even begin the task: its workers are not fit for it."""

    words: str


Answer = bytes | Lost | Refused


class Cluster(Protocol[Handle]):
    """What a cluster must be able to do. Each may raise StoreError: the cluster is gone."""

    def cores(self) -> int:
        """How many tasks it can do at a time, now."""

    def send(self, job: bytes, items: bytes) -> Handle:
        """Begins a task: `grind_bytes(job, items)`."""

    def wait(self, sent: Collection[Handle], seconds: float) -> list[tuple[Handle, Answer]]:
        """The answers that are there; at least one, unless it takes longer than so many seconds."""

    def drop(self, sent: Collection[Handle]) -> None:
        """Nobody waits for these any more."""


def greet(address: str) -> None:
    """Finds out at once whether anybody listens; clients of clusters try for long before they say so.

    Args:
        address: ends with `host:port`.

    Raises:
        StoreError: nobody does.
    """
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()
    except OSError as error:
        raise StoreError(f"no cluster answers at {address}: {error}; start it, or mend the engine's address") from error


def spread(cluster: Cluster[Handle], job: Job, items: Iterable[Item], patience: float = PATIENCE) -> Iterator[Done]:
    """Grinds items on a cluster, in whatever order they get done. Items are taken as there is room for them.

    Raises:
        StoreError: the cluster does not answer any more, or has had no workers for so long.
        RecipeError: a package of shelves is not there.
    """
    window = _Window(cluster, errand(job), patience)
    lost: list[Item] = []
    with closing(window.run(items)) as answers:
        for task, answer in answers:
            if isinstance(answer, Lost):
                lost += task
            else:
                yield from _done(task, answer)
    for item in lost:
        for task, answer in window.run([item]):
            yield from _done(task, answer)


def _done(task: Sequence[Item], answer: Answer) -> Sequence[Done]:
    match answer:
        case Lost(words):
            kind = "StoreError"
        case Refused(words):
            kind = "RecipeError"
        case _:
            return answers_of(answer)
    return [
        Done(item.name, item.weight, Outcome((), failed=(Failed(kind, f"shard {item.name}: {words}", name=item.name),)))
        for item in task
    ]


def _task(todo: Iterator[Item], most: int) -> list[Item]:
    """The next items, as many as make a task; none at the end."""
    task: list[Item] = []
    for item in islice(todo, most):
        task.append(item)
        if sum(each.weight for each in task) >= SMALL:
            break
    return task


class _Window(Generic[Handle]):
    """Keeps so many tasks under way."""

    def __init__(self, cluster: Cluster[Handle], job: bytes, patience: float) -> None:
        self._cluster = cluster
        self._job = job
        self._patience = patience
        self._room = 0
        self._looked = float("-inf")
        self._manned = time.monotonic()

    def run(self, items: Iterable[Item]) -> Generator[tuple[list[Item], Answer], None, None]:
        """Tasks and what came of them. When the reader goes away, what is under way is dropped."""
        todo = iter(items)
        sent: dict[Handle, list[Item]] = {}
        first = True  # tasks go to every core before any gets several items
        try:
            while True:
                self._look()
                while len(sent) < self._room and (task := _task(todo, 1 if first else MANY)):
                    sent[self._cluster.send(self._job, msgspec.json.encode(task))] = task
                first = False
                if not sent:
                    return
                for handle, answer in self._cluster.wait(sent, TICK):
                    yield sent.pop(handle), answer
        finally:
            if sent:
                self._cluster.drop(sent)

    def _look(self) -> None:
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
