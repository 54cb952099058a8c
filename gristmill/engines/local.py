"""The local engine: worker processes on this machine. Each grinds (processes) one item at a time.

If a worker dies, only its item is affected: a new worker tries it once more. If that dies too, the result of the item
is a failure that names it. The engine takes new items only as the caller reads results, at most two per worker, so
memory stays bounded. Results come in the order in which they are finished.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import BinaryIO

import msgspec

from gristmill.engines.kinds import EngineKind
from gristmill.execution.remote import ONE_CORE
from gristmill.execution.runner import Inline
from gristmill.execution.work import Done, Failed, Item, Job, Outcome
from gristmill.execution.worker import JOB, receive_message, send_message
from gristmill.interrupts import shield_children_from_interrupt
from gristmill.threads import start_thread

TRIES = 2
"""How often an item is started before the death of its worker counts as its failure."""

AHEAD = 2
"""Items taken per worker: the one that it grinds, and one that is ready when it is done."""

SMALL = 1 << 20
"""For less work than this, in bytes, starting workers costs more time than they save."""


class _Worker:
    """One worker process and the messages to and from it."""

    def __init__(self) -> None:
        paths = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109 - '' in sys.path means the working directory
        with shield_children_from_interrupt():  # Ctrl-C does not reach the worker: the run ends it
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gristmill.execution.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **ONE_CORE, "PYTHONPATH": paths},
            )

    def open(self, job: bytes) -> None:
        send_message(self._required_pipe(self._process.stdin), JOB + job)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def grind_item(self, item: Item) -> Done | None:
        """The result of an item, or None if the worker died."""
        try:
            send_message(self._required_pipe(self._process.stdin), msgspec.json.encode(item))
            answer = receive_message(self._required_pipe(self._process.stdout))
        except (BrokenPipeError, OSError):
            return None
        return msgspec.json.decode(answer, type=Done) if answer is not None else None

    @staticmethod
    def _required_pipe(pipe: object) -> BinaryIO:
        return pipe  # type: ignore[return-value]  # Popen was asked for binary pipes

    def kill_worker(self) -> None:
        self._process.kill()

    def end_in_words(self) -> str:
        """How the process ended, in words. If it does not end within 5 seconds, it is killed."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return "closed its output but did not end"
        if code == -9:
            return "was killed (signal 9): most often for want of memory; use fewer workers or smaller shards"
        return f"died with {_signal_name(-code)}" if code < 0 else f"ended with code {code}"

    def hang_up(self) -> None:
        """Closes its input, so that it ends."""
        with suppress(OSError):
            self._required_pipe(self._process.stdin).close()

    def close(self) -> None:
        self.hang_up()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._required_pipe(self._process.stdout).close()


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
    return f"signal {number}, {name}" + (": often for want of memory" if number == signal.SIGABRT else "")


class _Team:
    """The workers of one map(). They are killed when nobody needs their answers any more."""

    def __init__(self) -> None:
        self.dismissed = False
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()

    def join(self, worker: _Worker) -> _Worker:
        """Adds a worker, and returns it; it is killed at once if the team is dismissed."""
        with self._lock:
            self._workers.append(worker)
            if self.dismissed:
                worker.kill_worker()
        return worker

    def dismiss_workers(self) -> None:
        with self._lock:
            self.dismissed = True
            for worker in self._workers:
                worker.kill_worker()


class LocalPool:
    """An Engine of worker processes on this machine. Workers stay alive between jobs, until close().

    Args:
        workers: number of processes.
        small: number of bytes. Items of less input in all, or a single item, are ground in this process.
    """

    def __init__(self, workers: int, *, small: int = SMALL) -> None:
        self._count = max(1, workers)
        self._small = small
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        rest = iter(items)
        first: list[Item] = []
        weight = 0
        for item in rest:  # read until there is enough work to be worth workers
            first.append(item)
            weight += item.weight
            if len(first) > 1 and weight >= self._small:
                yield from self._spread_over_threads(msgspec.json.encode(job), chain(first, rest))
                return
        yield from Inline().map(job, first)

    def _spread_over_threads(self, job: bytes, work: Iterator[Item]) -> Iterator[Done]:
        todo: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        team = _Team()
        window = list(islice(work, AHEAD * self._count))
        for item in window:
            todo.put(item)
        under_way = len(window)
        threads = [start_thread(self._serve_items, job, team, todo, done) for _ in range(min(self._count, len(window)))]
        try:
            while under_way:
                yield done.get()
                under_way -= 1
                for item in islice(work, 1):  # the caller took a result and wants the next one: so take one more item
                    todo.put(item)
                    under_way += 1
        except BaseException:  # the caller stopped reading: start nothing more, and finish nothing
            with suppress(queue.Empty):
                while True:
                    todo.get_nowait()
            team.dismiss_workers()
            raise
        finally:
            for _ in threads:
                todo.put(None)
            for thread in threads:
                thread.join()

    def _serve_items(
        self,
        job: bytes,
        team: "_Team",
        todo: "queue.SimpleQueue[Item | None]",
        done: "queue.SimpleQueue[Done]",
    ) -> None:
        """What each thread does: it gives the items to a worker of its own, until it gets None instead of an item."""
        worker: _Worker | None = None
        while (item := todo.get()) is not None:
            answer: Done | None = None
            words = "was not started"
            for _ in range(TRIES):
                if team.dismissed:
                    break
                try:
                    if worker is not None and not worker.is_alive:  # it died while idle: not the fault of an item
                        worker.close()
                        worker = None
                    worker = worker or team.join(self._take_idle_worker(job))
                    answer = worker.grind_item(item)
                except (OSError, ValueError) as error:  # ValueError: its answer was not a message
                    words = f"could not be started, or its answer could not be read ({error})"
                if answer is not None:
                    break
                if worker is not None:
                    words = worker.end_in_words()
                    worker.close()
                    worker = None
            died = Failed("StoreError", f"shard {item.name}: its worker {words}", name=item.name)
            done.put(answer or Done(item.name, item.weight, Outcome((), failed=(died,))))
        if worker is not None and team.dismissed:
            worker.close()
        elif worker is not None:
            with self._lock:
                self._idle.append(worker)

    def _take_idle_worker(self, job: bytes) -> _Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is not None:
            try:
                worker.open(job)
            except OSError:  # it died while idle
                worker.close()
            else:
                return worker
        worker = _Worker()
        try:
            worker.open(job)
        except OSError:
            worker.close()
            raise
        return worker

    def close(self) -> None:
        """Ends the workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.hang_up()  # they end at the same time
        for worker in idle:
            worker.close()


INLINE = EngineKind(name="inline", help="the process of the run, for debugging", open=lambda *_: Inline())
LOCAL = EngineKind(name="local", help="worker processes on this machine", open=lambda workers, _: LocalPool(workers))
