"""A process that runs jq expressions. jq_process.py starts it and asks it.

A short expression can need any amount of time and memory, and the library cannot be interrupted. So it runs here alone:
the operating system ends this process when an expression passes its limits.
"""

import fcntl
import json
import os
import resource
import signal
import sys
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

from gristmill.dolma.mixing.jaq_functions import JAQ_FUNCTIONS
from gristmill.interrupts import ignore_interrupt_in_child

BETWEEN = "\n"
"""Between the expression, as JSON, and the rows of a question: JSON in one line does not have it."""


def evaluate_rows(question: str, seconds: float) -> bytes:
    """The values of an expression for rows, up to the first row on which it fails.

    Args:
        question: the expression and the rows.
        seconds: CPU time that it may take.

    Returns:
        JSON: a list of values for each row, and the error of the row behind them, or null.
    """
    text, *rows = question.split(BETWEEN)
    found = []
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        program = _compile_jq_program(text)
        for row in rows:
            found += [list(program.input_text(row).all())]  # the values before an error are kept
    except ValueError as error:
        return json.dumps([found, str(error)]).encode()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return json.dumps([found, None]).encode()


@lru_cache(256)
def _compile_jq_program(text: str) -> Any:
    import jq  # type: ignore[import-not-found]  # noqa: PLC0415 - an extra, which jq_process.py asks for

    plain = json.loads(text)
    jq.compile(plain)  # its error names the place
    return jq.compile(JAQ_FUNCTIONS + plain)


def _end_with_parent() -> None:
    """Lets the operating system end this process when the other one ends: a long expression would not notice.

    Nobody writes to the standard input. So its only event is that the other process, which holds the other end, has
    ended; and the signal of an event ends a process. If that has happened already, the connection is closed too.
    """
    fcntl.fcntl(sys.stdin, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sys.stdin, fcntl.F_SETFL, fcntl.fcntl(sys.stdin, fcntl.F_GETFL) | os.O_ASYNC)


def main() -> None:
    """Serves the connection whose descriptor is the first argument; then come seconds and bytes of memory."""
    descriptor, seconds, memory = sys.argv[1:]
    _end_with_parent()
    ignore_interrupt_in_child()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, also in the middle of native code
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    with Connection(int(descriptor)) as connection:
        while True:
            try:
                connection.send_bytes(evaluate_rows(connection.recv_bytes().decode(), float(seconds)))
            except (EOFError, BrokenPipeError, ConnectionResetError):  # the other process has ended
                return
            except MemoryError:  # of this library's Python half; the other half ends the process itself
                os.abort()


if __name__ == "__main__":
    main()
