"""LimitedProcess: runs one of our modules alone, so that the operating system can end it when it passes its limits."""

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from multiprocessing import Pipe

from gristmill.interrupts import shield_children_from_interrupt
from gristmill.recipes.sql.worker import ProcessLimits


class LimitedProcess:
    """A process of ours, and the connection to it.

    Args:
        module: name of the module that it runs. Its first argument is the descriptor of the connection.
        arguments: further arguments of the module.
        kept: names of the environment variables that it gets from this process. The others may be secrets.
        variables: environment variables that it gets besides.
        stdin: standard input, as subprocess takes it.
        stderr: standard error output, as subprocess takes it; None: that of this process.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        kept: Collection[str],
        variables: Mapping[str, str],
        stdin: int = subprocess.DEVNULL,
        stderr: int | None = None,
    ) -> None:
        paths = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109 - '' in sys.path means the working directory
        inherited = {name: value for name, value in os.environ.items() if name in kept}
        self.connection, theirs = Pipe()
        with shield_children_from_interrupt():
            self.process = subprocess.Popen(  # noqa: S603 - our own module; its arguments are numbers
                [sys.executable, "-m", module, str(theirs.fileno()), *arguments],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno()],
                env={**inherited, **variables, "PYTHONPATH": paths},
            )
        theirs.close()

    def end(self) -> int:
        """Ends the process.

        Returns:
            Its exit code: negative for a signal.
        """
        self.connection.close()
        if self.process.stdin:
            self.process.stdin.close()
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill_process(self) -> None:
        """Ends the process at once."""
        self.process.kill()
        self.end()


def process_end_reason(code: int, limits: ProcessLimits, engine: str) -> str:
    """Why a process ended before it had answered, as the end of a sentence.

    Args:
        code: exit code of the process.
        limits: limits of what it did.
        engine: name of what ran in it.

    Returns:
        Words that follow the name of what it did.

    >>> limits = ProcessLimits(0.5, 1 << 30)
    >>> process_end_reason(-signal.SIGPROF, limits, "jq"), process_end_reason(3, limits, "jq")
    ('takes more than 0.5 s of CPU time', 'ended jq with code 3')
    """
    if -code == signal.SIGPROF:
        return f"takes more than {limits.seconds:g} s of CPU time"
    if -code in {signal.SIGKILL, signal.SIGABRT}:
        return f"needs more memory than there is, or than the limit of {limits.memory >> 20:,} MiB"
    return f"ended {engine} with signal {-code}" if code < 0 else f"ended {engine} with code {code}"
