"""Work in a child of this process that dies before one of the changes that it makes to a folder, or meets a limit."""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from one_step import Changes

from gristmill.errors import StoreError

Work = Callable[[], int | None]

STORE_ERROR = 3
"""Exit code of a child whose work raised a StoreError."""


class Child:
    """A fork of this process that does a piece of work.

    Args:
        work: what it does; a number that it returns is its exit code.
        folder: whose changes are counted.
        die: the number of the change that it does not live to make, from 1; 0: it lives.
        largest: the size in bytes beyond which no file may grow; 0: no limit.
        start: a pipe; the work begins when it is closed.
    """

    def __init__(
        self, work: Work, folder: Path, die: int = 0, largest: int = 0, start: tuple[int, int] | None = None
    ) -> None:
        out, into = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(into)
            self._said = out
            return
        os.close(out)
        code = 99
        try:
            os.dup2(into, 1)
            os.dup2(into, 2)
            sys.stdout = sys.stderr = os.fdopen(into, "w", buffering=1)
            if start:
                os.close(start[1])
                os.read(start[0], 1)
            if largest:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            Changes(str(folder), die)
            code = work() or 0
        except StoreError:
            code = STORE_ERROR
            traceback.print_exc()
        except BaseException:  # noqa: BLE001 - the child ends here, and its parent reads the trace
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def wait(self) -> int:
        """Its exit code; that of a signal is negative. What it said is in `words` then."""
        with os.fdopen(self._said, "rb") as said:
            self.words = said.read().decode()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def deaths(folder: Path, work: Work, again: Callable[[], object], every: int = 1) -> Iterator[int]:
    """Does a piece of work that dies before its first change of a folder, before its second, and so on, until it lives.

    Args:
        folder: whose changes are counted.
        work: what is done.
        again: makes the folder as it was before; is called before each try.
        every: only each so many changes.

    Yields:
        The number of each change, after the death before it.
    """
    for die in count(1, every):
        again()
        child = Child(work, folder, die)
        code = child.wait()
        if code != -signal.SIGKILL:
            assert code == 0, child.words
            return
        yield die


def at_once(folder: Path, *works: Work) -> None:
    """Does several pieces of work that begin at the same moment. Each ends well, or with a StoreError."""
    start = os.pipe()
    children = [Child(work, folder, start=start) for work in works]
    for end in start:
        os.close(end)
    codes = [child.wait() for child in children]
    assert set(codes) <= {0, STORE_ERROR}, "\n".join(child.words for child in children)
