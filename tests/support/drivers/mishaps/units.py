"""A process that is started again when it has ended, as systemd does with the units of docs/production."""

import subprocess
import threading
from collections.abc import Callable

RESTART = 2.0
"""Seconds before it is started again: RestartSec of the units."""

LOOK = 0.1
"""Seconds between two looks at it."""


class Unit:
    """A process, and the thread that starts it again.

    Args:
        process: it runs already.
        serve: starts it anew.
    """

    def __init__(self, process: subprocess.Popen[bytes], serve: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._process, self._serve = process, serve
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """SIGKILL, to this process alone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """From now on it is not started again."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            if self._process.poll() is not None and not self._over.wait(RESTART):
                self._process = self._serve()
