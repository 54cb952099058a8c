"""Ctrl-C: a terminal sends it to all processes of a command. Ours decides; its children end, and print no trace.

A child is deaf from its first moment: else Python would print where it was in its imports. And a child is begun as a
whole or not at all: one that was begun by half would print that it lacks the rest.
"""

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def shield_children_from_interrupt() -> Iterator[None]:
    """Processes that begin inside of it do not hear Ctrl-C until they call ignore_interrupt_in_child().

    Ours hears it at the end.
    """
    heard: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


def ignore_interrupt_in_child() -> None:
    """Ignores Ctrl-C in a child process, which ends when its parent hangs up or kills it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that obey this one. Submit tasks inside of shield_children_from_interrupt().

    After an error, or Ctrl-C, or if the caller needs no further results, they are killed: nobody waits for a task.

    Args:
        workers: number of processes.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=ignore_interrupt_in_child) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.kill()
            raise
