"""Starts threads. The types that they may decode are made ready before.

msgspec looks at the fields of a type when somebody first decodes it, and shares what it knows of them before it knows
all: two threads that decode a type for the first time at once crash Python.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from weakref import WeakSet

import msgspec

_lock = threading.Lock()
_ready: "WeakSet[type]" = WeakSet()


def prepare_struct_types() -> None:
    """Lets msgspec look at the fields of all types that have been declared. A type takes some 30 microseconds, once."""
    with _lock:
        for kind in _subclasses_below(msgspec.Struct):
            if kind not in _ready:
                with suppress(TypeError, NameError):  # of a type that nobody can decode
                    msgspec.json.Decoder(kind)
                _ready.add(kind)


def _subclasses_below(kind: type) -> Iterator[type]:
    below: list[type] = kind.__subclasses__()
    for each in below:
        yield each
        yield from _subclasses_below(each)


def thread_pool(most: int) -> ThreadPoolExecutor:
    """A pool of threads.

    Args:
        most: largest number of threads.
    """
    prepare_struct_types()
    return ThreadPoolExecutor(most)


def start_thread(target: Callable[..., object], *given: object, name: str | None = None) -> threading.Thread:
    """Starts a thread, which does not keep the process from ending.

    Args:
        target: function that the thread runs.
        given: the arguments of that.
        name: name for people who look at the process.

    Returns:
        The thread, which runs already.
    """
    prepare_struct_types()
    thread = threading.Thread(target=target, args=given, daemon=True, name=name)
    thread.start()
    return thread
