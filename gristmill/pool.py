"""Functions in several processes of this machine, with results in order. A killed process is an error in words."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from gristmill.errors import StoreError
from gristmill.interrupts import shield_children_from_interrupt, worker_pool

T = TypeVar("T")


def run_in_processes(works: Sequence[Callable[[], T]], workers: int) -> Iterator[T]:
    """The results of functions, in their order.

    Args:
        works: the functions; a pool of processes must be able to take them and their results.
        workers: number of processes; with fewer than two, or with one function, this process does all.

    Raises:
        StoreError: a process was killed. The results before are there; run again.
    """
    if min(workers, len(works)) < 2:
        yield from (work() for work in works)
        return
    with worker_pool(min(workers, len(works))) as pool:
        try:
            under_way = _submit(pool, works)
            yield from (future.result() for future in under_way)
        except BrokenProcessPool as error:
            raise StoreError(
                "a worker process was killed: most often for want of memory; use fewer workers, then run again"
            ) from error


def _submit(pool: ProcessPoolExecutor, works: Sequence[Callable[[], T]]) -> list[Future[T]]:
    """Gives functions to a pool.

    A pool closes its pipes when one of its processes dies. If it starts another one at this moment, the error is about
    a descriptor, in one of several forms. So the pool is asked whether it is broken, whatever the error is.

    Raises:
        BrokenProcessPool: a process of the pool was killed.
    """
    with shield_children_from_interrupt():
        try:
            return [pool.submit(work) for work in works]
        except Exception:
            with suppress(OSError, ValueError):  # of a pool that is not broken: the first error tells more
                pool.submit(int)
            raise
