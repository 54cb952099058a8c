"""Small objects of a bucket, fetched before their reader asks for them.

A request for a small object takes its time on the way, not in this process: 20 to 50 ms each, so 10,000 of them one
after another are minutes. Objects of a folder are read when they are asked for.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from gristmill.lake.store.protocol import Entry, ObjectVersion, Store
from gristmill.threads import thread_pool

AT_ONCE = 16
"""Requests under way, or answered and not used yet."""

SMALL = 1 << 20
"""Size in bytes of the largest object that is fetched ahead; a larger one is streamed when it is asked for."""


class Streams(Protocol):
    """What holds raw objects: a store, or one that fetches them ahead."""

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        """The object in pieces: see Store.stream().

        Args:
            path: path of the object.
            version: the version that it must have; None: any.
            start: the byte to begin at.
        """

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of an object: see Store.read_range().

        Args:
            path: path of the object.
            start: the first byte.
            end: the byte after the last one.
        """

    def head(self, path: str) -> Entry | None:
        """The object's entry: see Store.head()."""


class ReadAhead:
    """Streams objects of a bucket in an order that is known in advance.

    Args:
        store: the bucket.
        objects: path and version of each object, in the order in which they will be asked for.
        threads: send the requests.
    """

    def __init__(self, store: Store, objects: Sequence[tuple[str, ObjectVersion]], threads: ThreadPoolExecutor) -> None:
        self._store, self._threads = store, threads
        self._rest = iter([each for each in objects if each[1].size <= SMALL])
        self._coming: deque[tuple[str, ObjectVersion, Future[list[bytes]]]] = deque()
        for _ in range(AT_ONCE):
            self._request_next()

    def _request_next(self) -> None:
        for path, version in self._rest:
            self._coming.append((path, version, self._threads.submit(self._fetch_object, path, version)))
            return

    def _fetch_object(self, path: str, version: ObjectVersion) -> list[bytes]:
        return list(self._store.stream(path, version))

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        if start or not self._coming or self._coming[0][:2] != (path, version):
            yield from self._store.stream(path, version, start)
            return
        _, _, pieces = self._coming.popleft()
        self._request_next()
        yield from pieces.result()

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._store.read_range(path, start, end)

    def head(self, path: str) -> Entry | None:
        return self._store.head(path)


@contextmanager
def open_read_ahead(store: Store, objects: Sequence[tuple[str, ObjectVersion]]) -> Iterator[Store | ReadAhead]:
    """What streams these objects, best in this order: the store, or a ReadAhead if it is a bucket.

    Args:
        store: store of the objects.
        objects: path and version of each.

    Yields:
        What streams them. Requests that are no longer needed end with it.
    """
    if len(objects) < 2 or not store.url.startswith("s3://"):
        yield store
        return
    threads = thread_pool(AT_ONCE)
    try:
        yield ReadAhead(store, objects, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
