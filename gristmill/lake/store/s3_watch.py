"""Says within seconds that a bucket does not answer, or answers with an error, while its requests are tried again.

One thread of each process looks at the requests under way, twice a second. It writes warnings to the logger
`gristmill`: the command line shows them on stderr, Dagster in the run's log (`python_logs` in dagster.yaml).
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from gristmill.threads import start_thread

LOG = logging.getLogger("gristmill.lake")

LOOK = 0.5
"""Seconds between two looks at the requests under way."""
LATE = 2.0
"""Seconds after which a request that was tried again, or whose server cannot be reached, is told."""
SLOW = 10.0
"""Seconds after which a request is told although its server can be reached."""
AGAIN = 15.0
"""Seconds between two messages about the same server."""
_PROBE = 1.0


class Request:
    """A request under way.

    Args:
        server: its endpoint, or the address of the bucket.
        patience: seconds for which it is tried.

    Attributes:
        trouble: words about its last try; empty during the first one.
        answered: whether the last try had an answer, which was an error.
    """

    def __init__(self, server: str, patience: float) -> None:
        self.server, self.patience = server, patience
        self.trouble, self.answered = "", False
        self.began = time.monotonic()


class BucketWatch:
    """Looks at the requests under way, and says what does not answer, or answers with errors."""

    def __init__(self) -> None:
        self._requests: set[Request] = set()
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()
        self._busy = threading.Event()
        self._process = 0

    @contextmanager
    def request(self, server: str, patience: float) -> Iterator[Request]:
        """Watches a request, from its first try to its last.

        Args:
            server: its endpoint, or the address of the bucket. A request without one is not watched.
            patience: seconds for which it is tried.

        Yields:
            The request, to which its tries are told.
        """
        request = Request(server, patience)
        if server:
            self._begin_watch(request)
        try:
            yield request
        finally:
            self._requests.discard(request)

    def _begin_watch(self, request: Request) -> None:
        with self._lock:
            if self._process != os.getpid():  # a forked process has no threads
                self._process = os.getpid()
                self._busy = threading.Event()
                self._requests = set()
                start_thread(self._run_watch_thread, self._busy, name="bucket watch")
            self._requests.add(request)
            self._busy.set()

    def _run_watch_thread(self, busy: threading.Event) -> None:
        while True:
            busy.wait()
            time.sleep(LOOK)
            with self._lock:
                requests = list(self._requests)
                if not requests:
                    busy.clear()
            oldest: dict[str, Request] = {}
            for request in sorted(requests, key=lambda each: -each.began):
                oldest[request.server] = request
            for request in oldest.values():
                self._check_patience(request)

    def _check_patience(self, request: Request) -> None:
        now = time.monotonic()
        waited = now - request.began
        if waited < LATE or now - self._said.get(request.server, -AGAIN) < AGAIN:
            return
        unreachable = unreachable_reason(request.server)
        if not (unreachable or request.trouble) and waited < SLOW:
            return
        self._said[request.server] = now
        left = max(0.0, request.patience - waited)
        if request.answered and not unreachable:
            LOG.warning("%s answers with an error (%s); trying again for %.0f s", request.server, request.trouble, left)
            return
        trouble = unreachable or request.trouble or f"nothing for {waited:.0f} s"
        LOG.warning("%s does not answer (%s); trying again for %.0f s", request.server, trouble, left)


def unreachable_reason(server: str) -> str:
    """The reason why no connection to an endpoint can be made; empty if one can, or if the server is not an endpoint.

    >>> unreachable_reason("http://127.0.0.1:1")
    'connection refused'
    """
    if not server.startswith("http"):
        return ""
    parts = urlsplit(server)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_PROBE).close()
    except ConnectionRefusedError:
        return "connection refused"
    except socket.gaierror:
        return "no such host"
    except TimeoutError:
        return "no connection"
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


WATCH = BucketWatch()
"""The watch of this process."""
